"""What stands in front of a release's files: its rules, and the configurations that
print them.
"""
