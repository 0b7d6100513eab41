"""consents"""
