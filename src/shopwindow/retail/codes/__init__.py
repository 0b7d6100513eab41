"""Single-use promotion codes, and the order host that expires them (interface 2.6,
4.7).
"""
