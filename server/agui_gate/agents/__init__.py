"""The declarations of an application: agents, tools, gates, and the form of what they say."""
