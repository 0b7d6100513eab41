"""retail"""
