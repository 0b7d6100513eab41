"""bags"""
