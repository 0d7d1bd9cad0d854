//go:build linux

package installtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"ulnet/lnd/lndtest/netlab"
)

// inGroup makes a control group with the name $2, by way of the folder $1, and runs the rest of the
// arguments there, in namespaces whose root group it is. When standard input ends, also because the test
// has died, the program and all that it has started are killed.
const inGroup = `
mount -t cgroup2 cgroup2 "$1"
mkdir "$1/$2"
echo $$ >"$1/$2/cgroup.procs"
umount "$1"
shift 2
exec 3<&0 </dev/null
unshare --pid --fork --kill-child --uts --ipc --cgroup -- "$@" 3<&- &
program=$!
{ cat <&3; kill -KILL "$program"; } >/dev/null 2>&1 &
guard=$!
status=0
wait "$program" || status=$?
kill "$guard"
exit "$status"
`

// boots runs systemd in the root $1 as the first process, with the file systems that container
// managers give it. To the file $2 it writes the process id of systemd outside its namespaces.
const boots = `
root=$1 file=$2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom tty; do
	: >"$root/dev/$name"
	mount --bind "/dev/$name" "$root/dev/$name"
done
mkdir "$root/dev/shm" "$root/dev/pts" "$root/run/outside"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
read -r pid _ </proc/self/stat
cd "$root"
pivot_root . run/outside
echo "$pid" >"run/outside$file"
exec chroot . sh -c 'umount -l /run/outside && rmdir /run/outside && exec env -i container=ulnet /lib/systemd/systemd'
`

// probes tries, without a Debian root, those operations of inGroup and boots that a kernel or a container may
// forbid: it makes a control group with the name $2 by way of the folder $1, namespaces, mounts of each kind,
// and another root.
const probes = `
mount -t cgroup2 cgroup2 "$1"
mkdir "$1/$2"
status=0
bash -euc '
echo $$ >"$1/$2/cgroup.procs"
exec unshare --mount --pid --fork --uts --ipc --cgroup -- bash -euc "
umount $1
mount -t tmpfs tmpfs $1
cd $1
mkdir proc sys cgroup pts outside
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 cgroup
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts pts
: >null
mount --bind /dev/null null
pivot_root . outside
"' bash "$1" "$2" || status=$?
rmdir "$1/$2"
exit "$status"
`

// needBoot skips the test where boot is not possible: without cgroup2, or in a container that may not
// mount or may not make namespaces. It uses an empty folder and the name of a control group.
func (d debian) needBoot(folder, name string) {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), "unshare", "--mount", "--", "bash", "-euc", probes, "bash", folder, name)
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Skipf("no systemd can be the first process of namespaces here: %v\n%s", err, out)
	}
}

// removesGroup removes the control group with the name $2 when its processes have ended.
const removesGroup = `
mount -t cgroup2 cgroup2 "$1"
for _ in $(seq 600); do
	[ -d "$1/$2" ] || exit 0
	find "$1/$2" -depth -type d -exec rmdir {} \; 2>/dev/null || :
	sleep 0.1
done
exit 1
`

// system is a Debian root that runs under its own systemd on a host of a lab.
type system struct {
	debian
	pid string // process id of systemd outside its namespaces
}

// boot starts systemd in the root, and waits until it has started all units. It skips the test as
// needBoot does; a failure after that fails the test.
func (d debian) boot(on *netlab.Host) *system {
	d.t.Helper()
	dir := d.t.TempDir()
	group, file := filepath.Join(dir, "cgroup"), filepath.Join(dir, "pid")
	if err := os.Mkdir(group, 0o700); err != nil {
		d.t.Fatal(err)
	}
	name := fmt.Sprintf("ulnet-test-%d", os.Getpid())
	d.needBoot(group, name)
	d.t.Cleanup(func() {
		cmd := exec.Command("unshare", "--mount", "--", "bash", "-euc", removesGroup, "bash", group, name)
		if out, err := cmd.CombinedOutput(); err != nil {
			d.t.Logf("the control group %s is left: %v\n%s", name, err, out)
		}
	})
	var said strings.Builder
	cmd := exec.Command("unshare", "--mount", "--", "bash", "-euc", inGroup, "bash", group, name, "bash", "-euc", boots, "bash", d.dir, file)
	cmd.Stdout, cmd.Stderr = &said, &said
	input, err := cmd.StdinPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	process := on.Start(cmd)
	ended := make(chan struct{})
	go func() { _ = process.Wait(); close(ended) }() // an error is ignored: the buffer said has its reason
	d.t.Cleanup(func() { _ = input.Close(); <-ended })
	s := &system{debian: d}
	d.t.Cleanup(s.showJournal)
	s.awaitStart(file, ended, &said)
	return s
}

// awaitStart waits until systemd has written its process id to a file and has started all units. If
// the process that starts systemd ends before, said has the reason.
func (s *system) awaitStart(file string, ended <-chan struct{}, said fmt.Stringer) {
	s.t.Helper()
	late := time.After(10 * time.Minute)
	for state := ""; state != "running" && state != "degraded"; {
		select {
		case <-ended:
			s.t.Fatalf("systemd does not start: %s", said)
		case <-late:
			s.t.Fatalf("systemd does not become ready: %q", state)
		case <-time.After(100 * time.Millisecond):
		}
		if b, err := os.ReadFile(file); err == nil && strings.HasSuffix(string(b), "\n") {
			s.pid = strings.TrimSpace(string(b))
			state, _ = s.run("systemctl", "is-system-running", "--wait") // an error is ignored, because the state that the command prints says enough
			state = strings.TrimSpace(state)
		}
	}
}

// run runs a command in the system, and returns what it prints.
func (s *system) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{
		"--target", s.pid, "--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup", "--root", "--wd", "--",
		"env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", "SYSTEMD_PAGER=",
	}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must runs a command in the system that must succeed, and returns what it prints.
func (s *system) must(args ...string) string {
	s.t.Helper()
	out, err := s.run(args...)
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// contains runs a command in the system that must succeed and print a text.
func (s *system) contains(want string, args ...string) {
	s.t.Helper()
	if out := s.must(args...); !strings.Contains(out, want) {
		s.t.Errorf("%s: %q is not in\n%s", strings.Join(args, " "), want, out)
	}
}

// property returns a property of a unit.
func (s *system) property(name, unit string) string {
	s.t.Helper()
	return strings.TrimSpace(s.must("systemctl", "show", "--property="+name, "--value", unit))
}

// await waits until a condition holds.
func (s *system) await(what string, holds func() bool) {
	s.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	late := time.After(3 * time.Minute)
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			s.t.Fatal("still not: " + what)
		}
	}
}

// upgrade installs a .deb from outside under the manager that runs.
func (s *system) upgrade(deb string) {
	s.t.Helper()
	writeFile(s.t, s.path("root/package.deb"), readFile(s.t, deb))
	s.must("dpkg", "--install", "/root/package.deb")
	if err := os.Remove(s.path("root/package.deb")); err != nil {
		s.t.Fatal(err)
	}
}

// showJournal shows the end of the journal of a test that has failed.
func (s *system) showJournal() {
	if s.t.Failed() && s.pid != "" {
		out, err := s.run("journalctl", "--no-pager", "--lines=200")
		s.t.Log(out, err)
	}
}
