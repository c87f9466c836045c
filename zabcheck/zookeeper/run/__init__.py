"""Running a real ensemble: servers, clients, the proxy between them, and the schedules that break it."""
