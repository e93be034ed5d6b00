"""Teams: members, and the tasks that agents hand to other agents."""
