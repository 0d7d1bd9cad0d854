//go:build linux

package installtest

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/needs"
)

// debian is a Debian root in a folder.
type debian struct {
	t   *testing.T
	dir string
}

// newDebian makes a root with Debian's essential packages and those given.
func newDebian(t *testing.T, packages ...string) debian {
	t.Helper()
	if !effort.Long() {
		t.Skip("makes a Debian root: runs with ULNET_LONG=1")
	}
	mmdebstrap := needs.Program(t, "mmdebstrap")
	if os.Getuid() != 0 {
		t.Skip("only root makes roots")
	}
	d := debian{t, filepath.Join(t.TempDir(), "root")}
	run(t, exec.CommandContext(t.Context(), mmdebstrap, "--quiet", "--mode=root", "--variant=essential", "--include="+strings.Join(packages, ","), "bookworm", d.dir))
	return d
}

// path returns the path of a file of the root.
func (d debian) path(name string) string { return filepath.Join(d.dir, name) }

// command returns a command that runs in the root, with /proc.
func (d debian) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(d.t.Context(), "unshare", append([]string{
		"--mount", "--", "sh", "-euc",
		`mount -t proc proc "$0/proc"; exec chroot "$0" "$@"`, d.dir,
	}, args...)...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"}
	return cmd
}

// dpkg runs dpkg in the root.
func (d debian) dpkg(args ...string) {
	d.t.Helper()
	d.t.Log(run(d.t, d.command(append([]string{"dpkg"}, args...)...)))
}

// install copies a .deb from outside of the root into the root, and installs it.
func (d debian) install(deb string) {
	d.t.Helper()
	const within = "/root/package.deb"
	writeFile(d.t, d.path(within), readFile(d.t, deb))
	d.dpkg("--install", within)
	if err := os.Remove(d.path(within)); err != nil {
		d.t.Fatal(err)
	}
}

// volatile are files that dpkg, systemd and the tools for user accounts change with every package: their
// databases, logs, and copies of earlier versions.
var volatile = []string{
	"var/log/journal", "var/log/wtmp", "var/lib/systemd/random-seed", "var/lib/systemd/timers",
	"var/lib/dpkg", "var/log/dpkg.log", "var/cache/ldconfig", "var/lib/systemd/catalog",
	"etc/passwd-", "etc/shadow-", "etc/group-", "etc/gshadow-", "etc/.pwd.lock", "etc/subuid-", "etc/subgid-",
}

// contents returns a line for each file of the root, with its mode, and each line of the files of users
// and groups, such as /etc/passwd.
func (d debian) contents() []string {
	d.t.Helper()
	var list []string
	err := filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(d.dir, path)
		if err != nil {
			return err
		}
		if slices.Contains(volatile, name) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		list = append(list, fmt.Sprintf("%v /%s", info.Mode(), name))
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, file := range []string{"passwd", "shadow", "group", "gshadow"} {
		for line := range strings.Lines(readFile(d.t, d.path("etc/"+file))) {
			list = append(list, file+": "+strings.TrimSpace(line))
		}
	}
	return list
}

// difference returns the elements of b that a lacks, marked +, and those of a that b lacks, marked -.
func difference(a, b []string) (list []string) {
	for _, s := range b {
		if !slices.Contains(a, s) {
			list = append(list, "+ "+s)
		}
	}
	for _, s := range a {
		if !slices.Contains(b, s) {
			list = append(list, "- "+s)
		}
	}
	return list
}
