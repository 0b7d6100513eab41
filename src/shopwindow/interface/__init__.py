"""What may be asked, how a request becomes a call, and a call an answer."""
