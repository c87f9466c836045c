"""Holds single threads of an unmodified server at named places, with the JDK's own debug agent.

class_file, class_path    the contents of the jars: methods, the calls in them, lines
catalogue, points         named places, and where each is in the jars at hand
jdwp, agent               the agent's protocol as bytes, and the socket
jvm                       its classes, objects and threads: calls, fields, exceptions, and who waits for whom
debugger                  holds threads, and lets them go on
"""
