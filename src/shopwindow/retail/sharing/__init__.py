"""Sharing a promotion or a coupon by mail (interface 2.8, 4.10)."""
