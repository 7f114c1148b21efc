#!/usr/bin/env bash
# init.sh FOLDER ADDRESS...: process 1 of a node, in namespaces of its own. FOLDER is the node's state. It prints "ready" and ends
# when its standard input does; then the kernel ends every process, mount and interface of the node.
set -euo pipefail
folder=$1
shift

# Bidirectional mounts need a shared mount; nothing of it reaches the machine, whose mounts are no peers of ours.
mount --make-rshared /
# Private from here on: /run, and whatever is changed below /etc and /var/lib.
mount -t tmpfs none /run
mkdir -p "$folder/private"
mount -t tmpfs none "$folder/private"
for over in etc var/lib; do
  mkdir -p "$folder/private/$over/"{upper,work}
  mount -t overlay -o "lowerdir=/$over,upperdir=$folder/private/$over/upper,workdir=$folder/private/$over/work" none "/$over"
done
mkdir -p /var/lib/kubelet "$folder/kubelet"
mount --bind "$folder/kubelet" /var/lib/kubelet
mount --make-private /var/lib/kubelet # else each mount in there appears below $folder too
mount --make-shared /var/lib/kubelet

# Kernel settings that a kubelet wants, and that are the whole machine's: it finds them as it wants them and changes files.
settings=$folder/private/settings
mkdir "$settings"
wanted=(vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000)
for setting in "${wanted[@]}"; do
  name=${setting%=*}
  file=$settings/${name//\//-}
  echo "${setting#*=}" > "$file"
  if [ -e "/proc/sys/$name" ]; then mount --bind "$file" "/proc/sys/$name"; fi
done

ip link set lo up
for address in "$@"; do ip address add "$address/32" dev lo; done
echo 1 > /proc/sys/net/ipv4/ip_forward

echo ready
# Waits for the end of its input, and takes up the processes that lost their parent meanwhile.
while read -r _; do :; done
