//go:build linux

package installtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/netlab"
)

// confined runs a program in the root $1: the file system is read-only but for the folders in $2,
// /tmp is empty, the user and group are $3 if that is not empty, and the rest of the arguments is
// the program.
const confined = `
root=$1 writable=$2 user=$3
shift 3
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
for dir in $writable; do
	mount --bind "$root$dir" "$root$dir"
	mount -o remount,bind,rw "$root$dir"
done
mount -t tmpfs tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
exec chroot ${user:+"--userspec=$user" --groups=} "$root" "$@"
`

// notifySocket is the socket for messages to the service manager, in the root.
const notifySocket = "run/notify"

// service is a service that runs as its unit says.
type service struct {
	t       *testing.T
	process *netlab.Process
	notify  *net.UnixConn
	log     *os.File
}

// start starts the service of a unit in the root, on a host, and waits until it says that it is
// ready. It takes from the unit the command, the user, the capabilities, and the folders.
func (d debian) start(u unit, on *netlab.Host) *service {
	d.t.Helper()
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "NOTIFY_SOCKET=/" + notifySocket, "WATCHDOG_USEC=1000000"}
	var writable []string
	for _, kind := range []struct{ key, below string }{{"RuntimeDirectory", "/run/"}, {"StateDirectory", "/var/lib/"}} {
		dir := kind.below + u.one(kind.key)
		mode, err := strconv.ParseUint(u.one(kind.key+"Mode"), 8, 32)
		if err != nil {
			d.t.Fatal(err)
		}
		run(d.t, d.command("install", "-d", "-o", u.one("User"), "-g", u.one("Group"), "-m", fmt.Sprintf("%o", mode), dir))
		env = append(env, strings.ToUpper(strings.TrimSuffix(kind.key, "Directory"))+"_DIRECTORY="+dir)
		writable = append(writable, dir)
	}
	args := []string{"--mount", "--", "bash", "-euc", confined, "bash", d.dir, strings.Join(writable, " "), ""}
	args = append(append(args, setpriv(u)...), strings.Fields(u.one("ExecStart"))...)
	cmd := exec.Command("unshare", args...)
	cmd.Env = env
	return begin(d.t, cmd, on, d.path(notifySocket))
}

// begin starts a service on a host, and waits until it says by the socket that it is ready.
func begin(t *testing.T, cmd *exec.Cmd, on *netlab.Host, socket string) *service {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, notify: listen(t, socket), log: log}
	cmd.Stdout, cmd.Stderr = log, log
	s.process = on.Start(cmd)
	go func() {
		_ = s.process.Wait()                     // an error needs no report here: the method stop reports it
		_ = s.notify.SetReadDeadline(time.Now()) // ends a wait for a message; fails if the socket is closed
	}()
	s.await("READY=1")
	return s
}

// setpriv returns the beginning of a command line, which runs a program with the user, the group and the
// capabilities of a unit, and with NoNewPrivileges if the unit has it.
func setpriv(u unit) []string {
	capabilities := func(key string) string {
		set := "-all"
		for _, name := range u.words(key) {
			set += ",+" + strings.ToLower(strings.TrimPrefix(name, "CAP_"))
		}
		return set
	}
	args := []string{
		"setpriv", "--reuid=" + u.one("User"), "--regid=" + u.one("Group"), "--init-groups",
		"--inh-caps=" + capabilities("AmbientCapabilities"), "--ambient-caps=" + capabilities("AmbientCapabilities"),
		"--bounding-set=" + capabilities("CapabilityBoundingSet"),
	}
	if u.one("NoNewPrivileges") == "yes" {
		args = append(args, "--no-new-privs")
	}
	return args
}

// listen opens a socket for messages to the service manager.
func listen(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	_ = os.Remove(path) // removes the socket of an earlier service; fails if there is none
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	return c
}

// await waits for a message of the service.
func (s *service) await(state string) {
	s.t.Helper()
	awaitState(s.t, s.notify, state, func() string { return readFile(s.t, s.log.Name()) })
}

// awaitState waits for a message to the service manager. If none comes, it shows the log.
func awaitState(t *testing.T, c *net.UnixConn, state string, log func() string) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	for {
		n, err := c.Read(b)
		if err != nil {
			t.Fatalf("the service does not say %s: %v\n%s", state, err, log())
		}
		if strings.Contains("\n"+string(b[:n])+"\n", "\n"+state+"\n") {
			return
		}
	}
}

// stop ends the service as systemd does.
func (s *service) stop() {
	s.t.Helper()
	defer s.log.Close()
	if err := s.process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if err := s.process.Wait(); err != nil {
		s.t.Errorf("the service ended: %v\n%s", err, readFile(s.t, s.log.Name()))
	}
}
