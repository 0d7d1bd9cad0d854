package installtest

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/needs"
	"ulnet/lnd/lndtest/spec"
)

// TestUnits: systemd understands the units, alone and with each drop-in. Its security review rates their
// exposure 2.0 at most, and 5.0 with actions.conf, which lets programs administer the host.
func TestUnits(t *testing.T) {
	spec.Covers(t, "OP-20")
	t.Parallel()
	analyze := needs.Program(t, "systemd-analyze")
	for _, test := range effort.Some(2, []struct {
		unit     string
		dropIn   string
		exposure string // highest rating of the review, times ten
	}{
		{"lnetd.service", "", "20"},
		{"lnetd.service", "rdma.conf", "20"},
		{"lnetd.service", "capture.conf", "20"},
		{"lnetd.service", "actions.conf", "50"},
		{"lnetd@.service", "", "20"},
	}) {
		dir := t.TempDir()
		// systemd-analyze verify fails if a program of the unit does not exist, so /bin/true takes the place
		// of the programs.
		writeFile(t, filepath.Join(dir, test.unit), programPath.ReplaceAllString(readFile(t, filepath.Join(units, test.unit)), "/bin/true"))
		if test.dropIn != "" {
			writeFile(t, filepath.Join(dir, test.unit+".d", test.dropIn), readFile(t, filepath.Join(units, test.dropIn)))
		}
		for _, args := range [][]string{
			{"verify", "--man=no", "./" + strings.Replace(test.unit, "@.", "@n1.", 1)},
			{"security", "--offline=true", "--no-pager", "--threshold=" + test.exposure, "./" + test.unit},
		} {
			cmd := exec.CommandContext(t.Context(), analyze, args...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil || args[0] == "verify" && len(out) > 0 {
				t.Errorf("%s: systemd-analyze %s: %v\n%s", test.dropIn, strings.Join(args, " "), err, out)
			}
		}
	}
}

// programPath is the path of a program in texts.
var programPath = regexp.MustCompile(`/usr/bin/([a-z-]+)`)

// TestUnitPrograms: packages have all programs that units run, and those programs of this repository that
// the documents name by their installed paths.
func TestUnitPrograms(t *testing.T) {
	spec.Covers(t, "OP-20")
	t.Parallel()
	names, packaged := installed(t)
	for file, all := range map[string]bool{"contrib/systemd/lnetd.service": true, "contrib/systemd/lnetd@.service": true, "docs/install.md": false, "docs/operations.md": false} {
		for _, m := range programPath.FindAllStringSubmatch(readFile(t, filepath.Join(root, file)), -1) {
			if (all || slices.Contains(names, m[1])) && !slices.Contains(packaged, m[1]) {
				t.Errorf("%s names %s, which packages do not have", file, m[0])
			}
		}
	}
}

// TestTemplate: the unit for several nodes differs from the unit for one node only by names.
func TestTemplate(t *testing.T) {
	one, several := readUnit(t, "lnetd.service"), readUnit(t, "lnetd@.service")
	want := maps.Clone(one)
	want["Description"] = []string{one.one("Description") + " (%i)"}
	want["ExecStart"] = []string{strings.ReplaceAll(one.one("ExecStart"), "lnetd.yaml", "lnetd-%i.yaml")}
	want["ExecReload"] = []string{strings.ReplaceAll(one.one("ExecReload"), "%t/"+one.one("RuntimeDirectory")+"/", "%t/lnetd-%i/")}
	want["RuntimeDirectory"], want["StateDirectory"] = []string{"lnetd-%i"}, []string{"lnetd-%i"}
	if !strings.Contains(several.one("ExecReload"), "lnetctl --socket %t/lnetd-%i/lnetd.sock reload") {
		t.Errorf("a reload runs %s", several.one("ExecReload"))
	}
	if !maps.EqualFunc(want, several, slices.Equal) {
		t.Errorf("lnetd@.service has\n%v\nwant\n%v", several, want)
	}
}

// TestDocumentPaths: packages contain every document that units and configurations name by its installed
// path. They have the folder docs and the files in the root of the repository.
func TestDocumentPaths(t *testing.T) {
	const folder = "/usr/share/doc/ulnet/"
	found := 0
	err := filepath.WalkDir(filepath.Join(root, "contrib"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		for i, rest := range strings.Split(readFile(t, path), folder) {
			name := rest[:len(rest)-len(strings.TrimLeft(rest, nameLetters))]
			if name = strings.TrimRight(name, "."); i == 0 || name == "" {
				continue
			}
			found++
			source := filepath.Join(root, name)
			if name == "copyright" || name == "notices" {
				continue // not in the repository: 'make tree' writes these files into the packages
			}
			if _, err := os.Stat(source); err != nil || !strings.HasPrefix(name, "docs/") && strings.Contains(name, "/") {
				t.Errorf("%s names %s%s, which packages do not have: %v", path, folder, name, err)
			}
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("%d documents are named: %v", found, err)
	}
}

// nameLetters are the bytes of names of documents.
const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./"

// TestCapabilities: the service has one capability, and with each drop-in the ones listed here.
func TestCapabilities(t *testing.T) {
	spec.Covers(t, "OP-20")
	const bind = "CAP_NET_BIND_SERVICE"
	for dropIn, test := range map[string]struct{ ambient, bounding string }{
		"":             {bind, bind},
		"rdma.conf":    {"CAP_NET_ADMIN " + bind, "CAP_NET_ADMIN " + bind},
		"capture.conf": {"CAP_NET_ADMIN " + bind + " CAP_NET_RAW", "CAP_NET_ADMIN " + bind + " CAP_NET_RAW"},
		"actions.conf": {"", "CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER CAP_KILL " + bind + " CAP_SETGID CAP_SETUID"},
	} {
		files := []string{"lnetd.service"}
		if dropIn != "" {
			files = append(files, dropIn)
		}
		u := readUnit(t, files...)
		if got := strings.Join(u.words("AmbientCapabilities"), " "); got != test.ambient {
			t.Errorf("%v: ambient %q, want %q", files, got, test.ambient)
		}
		if got := strings.Join(u.words("CapabilityBoundingSet"), " "); got != test.bounding {
			t.Errorf("%v: bounding set %q, want %q", files, got, test.bounding)
		}
	}
}

// TestUser: systemd-sysusers makes the user and the group that the unit names, and
// systemd-tmpfiles the folder of the configuration, which that group may read.
func TestUser(t *testing.T) {
	t.Parallel()
	sysusers, tmpfiles := needs.Program(t, "systemd-sysusers"), needs.Program(t, "systemd-tmpfiles")
	if os.Getuid() != 0 {
		t.Skip("only root makes users, and folders of others")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, make := range []struct {
		args []string
		file string
	}{
		{[]string{sysusers, "--root=" + dir, "-"}, "sysusers.conf"},
		{[]string{tmpfiles, "--root=" + dir, "--create", "-"}, "tmpfiles.conf"},
	} {
		cmd := exec.CommandContext(t.Context(), make.args[0], make.args[1:]...)
		cmd.Stdin = strings.NewReader(readFile(t, filepath.Join(units, make.file)))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", make.args, err, out)
		}
	}
	u := readUnit(t, "lnetd.service")
	for file, name := range map[string]string{"passwd": u.one("User"), "group": u.one("Group")} {
		if text := "\n" + readFile(t, filepath.Join(dir, "etc", file)); !strings.Contains(text, "\n"+name+":x:") {
			t.Errorf("%s has no %q:%s", file, name, text)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "etc", "ulnet"))
	if err != nil || info.Mode() != os.ModeDir|0o750 {
		t.Errorf("the folder of the configuration: %v, %v", info, err)
	}
}
