"""Promotions and their coupons (interface 4.10)."""
