"""Tells people and programs of approvals: webhooks, a function of the application, reminders and escalations."""
