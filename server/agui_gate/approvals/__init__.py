"""Tool calls that wait for a person: questions, answers, execution and outcomes."""
