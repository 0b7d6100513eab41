"""promotions"""
