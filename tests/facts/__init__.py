"""Facts that several tests hold the program to: tables of requests and answers, edits, and who else knows."""
