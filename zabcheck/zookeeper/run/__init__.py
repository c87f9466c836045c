"""How a real ensemble is run: servers, clients, the proxy between them, and the schedules that break it."""
