"""A typed client of a shopwindow service: configuration, any read, bags, and the mobile log."""

from shopwindow_client.bags import Bag, BagItem, Bags
from shopwindow_client.client import Client
from shopwindow_client.configuration import Configuration
from shopwindow_client.log import LogEntry, Logger
from shopwindow_client.refusals import Refused, Unreachable

__all__ = [
    "Bag",
    "BagItem",
    "Bags",
    "Client",
    "Configuration",
    "LogEntry",
    "Logger",
    "Refused",
    "Unreachable",
]
