"""The JDK's own debug agent holds single threads of an unmodified server, at places that have a name.

class_file, class_path    what the jars say: methods, the calls in them, lines
catalogue, points         named places, and where each is in the jars at hand
jdwp, agent               the agent's protocol as bytes, and the socket
debugger                  threads that are held at places, go on, throw; who waits for whom
"""
