package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"ulnet/lnd/lndtest/spec"
)

// flagsFor returns the flags of a daemon whose file is lnetd.yaml in the current folder.
func flagsFor(t *testing.T, args ...string) *Flags {
	t.Helper()
	set := pflag.NewFlagSet("lnetd", pflag.ContinueOnError)
	flags := AddFlags(set)
	if err := set.Parse(append([]string{"--config", "lnetd.yaml"}, args...)); err != nil {
		t.Fatal(err)
	}
	return flags
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestChanges: each key whose value has changed is listed with the line of its new value. A key that the new file
// does not have, so that it has its default again, is listed with the line of its old value. A key that a flag
// sets is not listed, even if its value in the file has changed.
func TestChanges(t *testing.T) {
	spec.Covers(t, "OP-6", "OP-8")
	t.Chdir(t.TempDir())
	flags := flagsFor(t, "--accept-port=1000")
	write(t, "nids", "10.0.0.[1-2]@tcp\n")
	write(t, "claims", "the first key of claims\n")
	write(t, "lnetd.yaml", `accept_port: 1
credits: 5
log_level: warn
gossip:
  nids_file: nids
  interval: 1s
health:
  claim_keys: claims
networks: tcp # The same in another form is no change.
`)
	from, err := flags.Load(false)
	if err != nil {
		t.Fatal(err)
	}
	write(t, "nids", "10.0.0.[1-3]@tcp\n")
	write(t, "claims", "another key of claims\n")
	write(t, "lnetd.yaml", `networks: "tcp"
accept_port: 2
log_level: info
gossip:
  interval: 2s
  nids_file: nids
handlers:
  late:
    on: [gossip]
    run: [/bin/true]
health:
  claim_keys: claims
`)
	to, err := flags.Reload(false)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range Changes(from, to) {
		text := c.String()
		if !AtRunTime(c.Key) {
			text += " needs a restart"
		}
		got = append(got, text)
	}
	want := []string{
		"lnetd.yaml:2: credits: 5 -> 256 needs a restart",
		"lnetd.yaml:5: gossip.interval: 1s -> 2s needs a restart",
		`lnetd.yaml:9: handlers.late.on: "" -> [gossip]`,
		`lnetd.yaml:10: handlers.late.run: "" -> [/bin/true]`,
		"lnetd.yaml:3: log_level: warn -> info",
		"lnetd.yaml:6: gossip.nids_file: nids -> nids with other NIDs needs a restart",
		"lnetd.yaml:12: health.claim_keys: claims -> claims with other keys needs a restart",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if same := Changes(to, to); len(same) != 0 {
		t.Errorf("changes without a change: %v", same)
	}
}

// TestReloadWholeFiles: a reload refuses files that are empty or end within a line, with the number of
// that line, and files that do not exist or are not regular. A load at a start accepts unfinished
// files.
func TestReloadWholeFiles(t *testing.T) {
	spec.Covers(t, "OP-7")
	t.Chdir(t.TempDir())
	flags := flagsFor(t)
	imports := "lnet_conf: lnet.conf\n"
	for name, test := range map[string]struct{ file, imported, want string }{
		"whole":                   {"credits: 5\n", "", ""},
		"empty":                   {"", "", "lnetd.yaml:1: the file is empty"},
		"in the middle of a line": {"credits: 256\npeer_cred", "", "lnetd.yaml:2: the line has no end"},
		"imported whole":          {imports, "global:\n  retry_count: 1\n", ""},
		"imported empty":          {imports, "", "lnet.conf:1: the file is empty"},
		"imported, half a line":   {imports, "global:\n  retry_count: 1", "lnet.conf:2: the line has no end"},
		"imported, bad item":      {imports, "route:\n  - net: tcp7\n", "lnet.conf:2: missing mandatory"},
		"imported, no YAML":       {imports, "net: [\n", "lnet.conf:1:6: "},
		"modprobe whole":          {"modprobe: m.conf\n", "options lnet networks=tcp\n", ""},
		"modprobe, half a line":   {"modprobe: m.conf\n", "options lnet networks=tcp", "m.conf:1: the line has no end"},
		"keys, half a line":       {"gossip:\n  key_file: m.conf\n", "0123456789abcdef", "m.conf:1: the line has no end"},
		"claims, half a line":     {"health:\n  claim_keys: m.conf\n", "0123456789abcdef", "m.conf:1: the line has no end"},
		"too large":               {strings.Repeat("# long\n", 10000), "", "lnetd.yaml: more than 65536 bytes"},
	} {
		write(t, "lnetd.yaml", test.file)
		write(t, "lnet.conf", test.imported)
		write(t, "m.conf", test.imported)
		_, err := flags.Reload(false)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	write(t, "lnetd.yaml", "credits: 5") // a load at a start accepts a last line without a newline
	if _, err := flags.Load(false); err != nil {
		t.Error(err)
	}
	if err := os.Remove("lnetd.yaml"); err != nil {
		t.Fatal(err)
	}
	if _, err := flags.Reload(false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want a file that does not exist", err)
	}
	if err := syscall.Mkfifo("lnetd.yaml", 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := flags.Reload(false); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a FIFO: %v", err)
	}
}

// TestReloadWithoutFile: if a file of Lustre was read before and does not exist now, which may be because
// another program is replacing it, a reload fails. A start does without the file.
func TestReloadWithoutFile(t *testing.T) {
	spec.Covers(t, "OP-7")
	set := pflag.NewFlagSet("lnetd", pflag.ContinueOnError)
	f := AddFlags(set)
	folder := t.TempDir()
	if f.present(folder, "modprobe") != folder || f.missing(folder) != nil {
		t.Errorf("found %q, %v", f.found, f.missing(folder))
	}
	if f.present(filepath.Join(folder, "none"), "modprobe") != "" {
		t.Error("found a file that does not exist")
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if f.present(folder, "modprobe") != "" {
		t.Error("found a folder that is gone")
	}
	if err := f.missing(f.present(folder, "modprobe")); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("%v, want an error about the folder", err)
	}
}

// TestChangesWhileRead: a file is not whole if another program has lengthened it or written to it
// between the beginning and the end of reading.
func TestChangesWhileRead(t *testing.T) {
	spec.Covers(t, "OP-7")
	file := filepath.Join(t.TempDir(), "f")
	info := func(text string, at time.Time) os.FileInfo {
		write(t, file, text)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
		s, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	now := time.Unix(1000, 0)
	before := info("a: 1\n", now)
	if err := checkWhole(file, before, info("a: 1\n", now), []byte("a: 1\n")); err != nil {
		t.Error(err)
	}
	for name, after := range map[string]os.FileInfo{"longer": info("a: 1\nb: 2\n", now), "written again": info("a: 1\n", now.Add(time.Nanosecond))} {
		if err := checkWhole(file, before, after, []byte("a: 1\n")); err == nil || !strings.Contains(err.Error(), "changes while it is read") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNIDsFileIsFIFO: a FIFO as nids_file is refused; to open it would wait for a writer.
func TestNIDsFileIsFIFO(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("nids", 0o600); err != nil {
		t.Fatal(err)
	}
	c := Default()
	if _, err := c.parse("f", []byte("gossip:\n  nids_file: nids\n")); err == nil || !strings.Contains(err.Error(), "f:2:14: nids_file: nids is no regular file") {
		t.Error(err)
	}
}
