"""Threads that act for the account and region of whoever started them."""
import contextvars
import threading


def run(function, *args):
    context = contextvars.copy_context()
    threading.Thread(target=lambda: context.run(function, *args), daemon=True).start()
