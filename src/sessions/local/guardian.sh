# Cleans up after a worker that could not do it: kills its browsers and removes their files. It gets the worker's folder,
# and its input ends when the worker does, however that ends. A signal to the worker's group must not end this one first.
root=$1
trap '' HUP INT TERM
cat > /dev/null

# A browser that was being started notes its id within a moment.
[ -e "$root" ] && sleep 0.1

# By its command line: another process may have the number by now.
belongs() {
  if [ -r "/proc/$1/cmdline" ]; then
    tr '\0' '\n' < "/proc/$1/cmdline"
  else
    ps -o command= -p "$1" 2> /dev/null
  fi | grep -q -F -e "--trawl-session=$2"
}

tries=0
while [ -e "$root" ] && [ "$tries" -lt 100 ]; do
  for folder in "$root"/*/; do
    folder=${folder%/}
    if [ -s "$folder/pid" ]; then
      read -r pid < "$folder/pid"
      belongs "$pid" "$folder" && kill -s KILL -- "-$pid"
    fi
    if [ -s "$folder/profile" ]; then
      read -r profile < "$folder/profile"
      case $profile in */playwright_*_profile-*) rm -rf -- "$profile" ;; esac
      [ -e "$profile" ] && continue
    fi
    rm -rf -- "$folder"
  done 2> /dev/null
  # A process that is being killed may still write: then something is left, and it is tried again.
  rm -f -- "$root/owner"
  rmdir "$root" 2> /dev/null || sleep 0.1
  tries=$((tries + 1))
done
