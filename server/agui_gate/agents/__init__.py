"""What an application declares: agents, tools, gates, and the form of what they say."""
