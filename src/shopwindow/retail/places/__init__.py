"""places"""
