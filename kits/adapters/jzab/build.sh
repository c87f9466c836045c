#!/bin/sh
# build.sh SOURCES PROGRAM: builds a node out of jzab, whose sources are in the folder SOURCES (not changed).
# Needs a JDK, and Debian's protobuf-compiler, libprotobuf-java, libnetty-java and libslf4j-java.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath -m "$2")
jars=/usr/share/java
netty=$(printf "$jars/netty-%s.jar:" buffer codec common handler transport)
path=$jars/protobuf.jar:$jars/slf4j-api.jar:$jars/slf4j-simple.jar
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
of_jzab=$work/com/github/zk1931/jzab
mkdir -p "$of_jzab"
cp "$1"/src/main/java/com/github/zk1931/jzab/*.java "$of_jzab"
protoc --proto_path="$1/src/main/resources" --java_out="$work" "$1/src/main/resources/zab_message.proto"

# Without these imports the queues and the executors are those of the adapter, which has its classes in the same package.
# Nothing else of jzab is changed.
sed -i -E '/^import java\.util\.concurrent\.(Executors|LinkedBlockingQueue);/d' "$of_jzab"/*.java
cp "$here"/*.java "$of_jzab"
for each in Node Json; do
    { echo 'package com.github.zk1931.jzab;'; cat "$here/../../java/$each.java"; } > "$of_jzab/$each.java"
done

rm -rf "$program.classes"
mkdir -p "$program.classes"
find "$work" -name '*.java' > "$work/sources"
javac -nowarn -Xlint:none -encoding UTF-8 -cp "$netty$path" -d "$program.classes" "@$work/sources"
cat > "$program" <<RUN
#!/bin/sh
exec java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=\${LOG:-error} \\
    -cp "$program.classes:$path" com.github.zk1931.jzab.Server "\$@"
RUN
chmod +x "$program"
