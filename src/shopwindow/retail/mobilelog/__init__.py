"""mobilelog"""
