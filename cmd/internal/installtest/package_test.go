//go:build linux

package installtest

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ulnet/cmd/internal/commands"
	"ulnet/cmd/internal/config"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/needs"
	"ulnet/lnd/lndtest/spec"
)

// installed returns the commands that packages contain: by their names in this repository, and by
// their names in packages.
func installed(t *testing.T) (names, packaged []string) {
	t.Helper()
	for _, target := range []struct{ name, prefix string }{{"list-installed", ""}, {"list-lustres", "ulnet-"}} {
		list := strings.Fields(run(t, exec.CommandContext(t.Context(), "make", "-s", "--no-print-directory", "-C", root, target.name)))
		if len(list) == 0 {
			t.Fatalf("make %s prints nothing", target.name)
		}
		for _, name := range list {
			names, packaged = append(names, name), append(packaged, target.prefix+name)
		}
	}
	return names, packaged
}

// TestInstalled: docs/install.md names the commands that packages have.
func TestInstalled(t *testing.T) {
	t.Parallel()
	text := readFile(t, filepath.Join(root, "docs", "install.md"))
	var rows string
	for line := range strings.Lines(text) {
		if strings.HasSuffix(line, "| `/usr/bin` |\n") {
			rows += line
		}
	}
	_, packaged := installed(t)
	for _, name := range packaged {
		if !strings.Contains(rows, "`"+name+"`") {
			t.Errorf("%s is not in the table of install.md:\n%s", name, rows)
		}
	}
}

// needTree skips the test except in long runs, and returns a tree with all files of a package, made of
// the commands that package commands builds for tests.
func needTree(t *testing.T) string {
	t.Helper()
	if !effort.Long() {
		t.Skip("builds packages: runs with ULNET_LONG=1")
	}
	names, _ := installed(t)
	bin, err := commands.Build(t.TempDir(), names...)
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(t.TempDir(), "tree")
	if bin, err = filepath.Abs(bin); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "make", "-s", "-C", root, "-o", "build", "tree", "BIN="+bin, "DESTDIR="+tree, "PREFIX=/usr")
	cmd.Env = withoutGit(os.Environ())
	run(t, cmd)
	return tree
}

// testMaintainer is the maintainer of packages that tests make.
const testMaintainer = "Jane Doe <jane@example.org>"

// build makes packages of a tree, and returns their paths.
func build(t *testing.T, tree, version, formats string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "contrib", "package", "build"), tree, t.TempDir())
	cmd.Env = append(withoutGit(os.Environ()), "VERSION="+version, "FORMATS="+formats, "MAINTAINER="+testMaintainer)
	paths := strings.Fields(run(t, cmd))
	if n := len(strings.Fields(formats)); len(paths) != n {
		t.Fatalf("packages %v, want %d", paths, n)
	}
	return paths
}

// run runs a command that must succeed, and returns its output.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	effort.Anew() // run the test anew each time: make, git and contrib's programs read files of which Go's test cache does not know
	var said strings.Builder
	if cmd.Stderr == nil {
		cmd.Stderr = &said
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out, &said)
	}
	return string(out)
}

// TestPackages: the .deb and the .rpm have the same files and replace no tool of Lustre. If they are
// built again, they have the same bytes.
func TestPackages(t *testing.T) {
	spec.Covers(t, "OP-22")
	tree := needTree(t)
	rpm := needs.Program(t, "rpm")
	paths := build(t, tree, "1.2.3~rc1", "deb rpm")
	deb := lines(run(t, exec.CommandContext(t.Context(), "sh", "-c", "dpkg-deb --fsys-tarfile \"$0\" | tar -t | grep -v '/$' | sed 's,^[.],,'", paths[0])))
	ours := lines(run(t, exec.CommandContext(t.Context(), rpm, "-qp", "--nosignature", "--qf", "[%{FILEMODES:perms} %{FILENAMES} %{FILEGROUPNAME}\n]", paths[1])))
	var files []string
	for _, line := range ours {
		mode, name, _ := strings.Cut(line, " ")
		name, group, _ := strings.Cut(name, " ")
		if (name == "/etc/ulnet") != (mode == "drwxr-x---" && group == "lnetd") {
			t.Errorf("%s has the mode %s and the group %s", name, mode, group)
		}
		if mode[0] != 'd' {
			files = append(files, name)
		}
		if _, known := slices.BinarySearch([]string{"/bin", "/etc", "/usr", "/usr/bin", "/usr/lib", "/usr/share", "/usr/share/man/man8"}, name); known {
			t.Errorf("the .rpm owns %s", name)
		}
		if mode != "drwxr-xr-x" && (mode != "drwxr-x---" || name != "/etc/ulnet") && mode != "-rw-r--r--" && (mode != "-rwxr-xr-x" || !strings.HasPrefix(name, "/usr/bin/")) {
			t.Errorf("the mode of %s is %s", name, mode)
		}
	}
	slices.Sort(files)
	if !slices.Equal(deb, files) {
		t.Errorf("the .deb has\n%s\nand the .rpm\n%s", strings.Join(deb, "\n"), strings.Join(files, "\n"))
	}
	wanted := []string{
		"/etc/ulnet/lnetd.yaml", "/usr/lib/systemd/system/lnetd.service", "/usr/lib/systemd/system/lnetd@.service",
		"/usr/lib/sysusers.d/ulnet.conf", "/usr/lib/tmpfiles.d/ulnet.conf", "/usr/lib/systemd/catalog/ulnet.catalog",
		"/usr/share/man/man8/lnetd.8.gz", "/usr/share/man/man8/ulnet-lnetctl-ping.8.gz", "/usr/share/ulnet/systemd/rdma.conf",
		"/usr/share/ulnet/grafana/lnetd.json", "/usr/share/ulnet/prometheus/lnetd.rules.yml",
		"/usr/share/doc/ulnet/copyright", "/usr/share/doc/ulnet/notices", "/usr/share/doc/ulnet/changelog.gz", "/usr/share/doc/ulnet/LICENSE", "/usr/share/doc/ulnet/docs/install.md",
	}
	_, packaged := installed(t)
	for _, name := range packaged {
		wanted = append(wanted, "/usr/bin/"+name)
	}
	for _, want := range wanted {
		if !slices.Contains(files, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, name := range files {
		if base, _, _ := strings.Cut(filepath.Base(name), "."); !strings.HasPrefix(name, "/usr/share/doc/") && slices.Contains([]string{"lnetctl", "lctl", "lst"}, base) {
			t.Errorf("%s belongs to Lustre", name)
		}
	}
	for _, maintainer := range []string{
		run(t, exec.CommandContext(t.Context(), "dpkg-deb", "--field", paths[0], "Maintainer")),
		run(t, exec.CommandContext(t.Context(), rpm, "-qp", "--nosignature", "--qf", "%{PACKAGER}", paths[1])),
	} {
		if strings.TrimSpace(maintainer) != testMaintainer {
			t.Errorf("the maintainer is %q, want %q", maintainer, testMaintainer)
		}
	}
	if conf := lines(run(t, exec.CommandContext(t.Context(), rpm, "-qpc", "--nosignature", paths[1]))); !slices.Equal(conf, []string{"/etc/ulnet/lnetd.yaml"}) {
		t.Errorf("configuration of the .rpm: %v", conf)
	}
	for i, again := range build(t, tree, "1.2.3~rc1", "deb rpm") {
		if sha256.Sum256([]byte(readFile(t, again))) != sha256.Sum256([]byte(readFile(t, paths[i]))) {
			t.Errorf("another build of %s differs", filepath.Base(paths[i]))
		}
	}
}

// TestMaintainer: a maintainer without an address is refused before anything is built.
func TestMaintainer(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Jane", "jane@example.org", "Jane <jane>", "<jane@example.org>", "Jane <jane@example.org> and more", "Jane <a b@example.org>"} {
		out := filepath.Join(t.TempDir(), "out")
		cmd := exec.CommandContext(t.Context(), filepath.Join(root, "contrib", "package", "build"), t.TempDir(), out)
		cmd.Env = append(withoutGit(os.Environ()), "MAINTAINER="+text)
		said, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(said), "want 'Name <name@domain>'") {
			t.Errorf("%q: %v, %s", text, err, said)
		}
		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: the folder of the packages: %v", text, err)
		}
	}
}

// lines returns the lines of a text, sorted.
func lines(text string) []string {
	list := strings.Split(strings.TrimRight(text, "\n"), "\n")
	slices.Sort(list)
	return list
}

// TestDefaultConfiguration: the configuration in packages is valid.
func TestDefaultConfiguration(t *testing.T) {
	file := filepath.Join(root, "contrib", "package", "lnetd.yaml")
	if _, err := config.Parse(file, []byte(strings.ReplaceAll(readFile(t, file), "\n#metrics", "\nmetrics"))); err != nil {
		t.Error(err)
	}
}

// withoutGit returns an environment without the variables by which git finds a repository and its
// configuration: hooks of git set them, and they win over the option -C.
func withoutGit(environ []string) (list []string) {
	for _, v := range environ {
		if !strings.HasPrefix(v, "GIT_") {
			list = append(list, v)
		}
	}
	return append(list, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
}

// TestVersion: the version of a commit without a tag is older than the next release. Of two such
// versions, the one of the later commit is newer. The test leaves the repository of its caller alone
// when git runs it in a hook.
func TestVersion(t *testing.T) {
	dpkg := needs.Program(t, "dpkg")
	caller := filepath.Join(t.TempDir(), "repository")
	t.Setenv("GIT_DIR", caller)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "cmd/internal/cli/run.go"), "package cli\n\nconst next = \"v0.7.0-dev\"\n")
	writeFile(t, filepath.Join(dir, "contrib/package/version"), readFile(t, filepath.Join(root, "contrib/package/version")))
	git := func(at string, args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(withoutGit(os.Environ()), "GIT_COMMITTER_DATE="+at)
		run(t, cmd)
	}
	version := func() string {
		cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(dir, "contrib/package/version"))
		cmd.Env = withoutGit(os.Environ())
		return strings.TrimSpace(run(t, cmd))
	}
	commit := func(at string) string {
		git(at, "add", "-A")
		git(at, "commit", "-q", "--allow-empty", "-m", at)
		return version()
	}
	git("", "init", "-q")
	all := []string{commit("2026-01-01T23:00:00+0000"), commit("2026-01-02T00:30:00+0100")}
	all = append(all, commit("2026-01-02T00:00:00+0000"))
	for _, tag := range []string{"v0.7.0-rc1", "v0.7.0"} {
		git("", "tag", tag)
		all = append(all, version(), commit("2026-01-02T00:00:00+0000"))
	}
	writeFile(t, filepath.Join(dir, "new"), "")
	all = append(all, version())
	if all[3] != "0.7.0~rc1" || all[5] != "0.7.0" {
		t.Errorf("versions of tags: %v", all)
	}
	for i := range all[1:] {
		if err := exec.CommandContext(t.Context(), dpkg, "--compare-versions", all[i], "lt", all[i+1]).Run(); err != nil {
			t.Errorf("%s is not older than %s: %v", all[i], all[i+1], err)
		}
	}
	if _, err := os.Stat(caller); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the test has used the repository in GIT_DIR: %v", err)
	}
}
