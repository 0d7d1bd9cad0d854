package bugreport

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/doctor"
	"ulnet/lnd/lndtest/spec"
)

// unpack returns the files of an archive by their names below its folder.
func unpack(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		folder, name, _ := strings.Cut(h.Name, "/")
		if !strings.HasPrefix(folder, "lnet-bugreport-") || filepath.Clean(name) != name || h.Mode != 0o600 {
			t.Errorf("%+v", h)
		}
		files[name] = string(text)
	}
}

// collect makes a report and returns its files and its index.
func collect(t *testing.T, o Options) (map[string]string, Index) {
	t.Helper()
	o.Host, o.Now = doctor.System{}, time.Now
	r, err := Collect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	files := unpack(t, out.Bytes())
	var index Index
	if err := json.Unmarshal([]byte(files["index.json"]), &index); err != nil {
		t.Fatal(err)
	}
	for _, f := range index.Files {
		if len(files[f.Name]) != f.Bytes {
			t.Errorf("%s has %d bytes, and the index says %d", f.Name, len(files[f.Name]), f.Bytes)
		}
	}
	return files, index
}

func (i *Index) lacks(what string) string {
	for _, m := range i.Missing {
		if m.What == what {
			return m.Why
		}
	}
	return ""
}

// TestMute: if the daemon accepts connections but does not answer, the report has its process and
// configuration, and the host, and lists what is missing.
func TestMute(t *testing.T) {
	spec.Covers(t, "OP-46")
	const captureToken = "0123456789abcdef0123456789abcdef-of-browsers"
	dir := t.TempDir()
	socket, conf, logFile := filepath.Join(dir, "s"), filepath.Join(dir, "lnetd.yaml"), filepath.Join(dir, "log")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for file, text := range map[string]string{
		conf:                           "# a comment\nmetrics: 9100\nmetrics_capture_token: browsers\ngossip:\n  key_file: key\n  interval: 3s\n",
		filepath.Join(dir, "key"):      "0123456789abcdef-key\n",
		filepath.Join(dir, "browsers"): captureToken + "\n",
		logFile:                        "first, of browsers\nbearer " + captureToken + "\nmsg=the-end key 0123456789abcdef-key\n",
		filepath.Join(dir, "pipe"):     "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, index := collect(t, Options{Socket: socket, Config: conf, Log: logFile, Limit: 5 * time.Second, Answer: time.Second})
	for name, part := range map[string]string{
		"process/cmdline":  "-test.",
		"config-file.json": "3s",
		"log.txt":          "first, of browsers\nbearer [redacted]\nmsg=the-end key [redacted]",
		"system/proc/stat": "cpu",
	} {
		if !strings.Contains(files[name], part) {
			t.Errorf("%s has no %q: %q", name, part, files[name])
		}
	}
	if !strings.Contains(files["config-file.json"], `"value": "browsers"`) {
		t.Errorf("the path of the token is gone: %s", files["config-file.json"])
	}
	for _, what := range []string{"daemon/status.json", "daemon/config.json", "daemon/profile-goroutine.txt", others} {
		if index.lacks(what) == "" {
			t.Errorf("the index does not say that %s is missing: %+v", what, index.Missing)
		}
	}
	if all := strings.Join(append(values(files), ""), ""); strings.Contains(all, "0123456789abcdef") || strings.Contains(all, "a comment") {
		t.Error("the report has a key, or a comment of the configuration")
	}
}

func values(files map[string]string) (list []string) {
	for _, text := range files {
		list = append(list, text)
	}
	return list
}

// TestNothingThere: without daemon, configuration and log a report is made, which lists them as missing.
func TestNothingThere(t *testing.T) {
	spec.Covers(t, "OP-46")
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	files, index := collect(t, Options{Socket: filepath.Join(dir, "none"), Config: filepath.Join(dir, "none.yaml"), Log: pipe, Limit: 1500 * time.Millisecond})
	for _, what := range []string{"process", "daemon/status.json", others, "config-file.json", "log.txt"} {
		if index.lacks(what) == "" {
			t.Errorf("the index does not say that %s is missing: %+v", what, index.Missing)
		}
	}
	if files["system/sysctl.txt"] == "" {
		t.Error("there is nothing of the system")
	}
}

// TestBounds: of a long file the beginning is kept, of a long log the end, and the size of a report is
// bounded. If the cut is within a secret, no part of the secret is left.
func TestBounds(t *testing.T) {
	spec.Covers(t, "OP-45", "OP-46")
	var r Report
	r.clean.learn("known-secret")
	long := []byte(strings.Repeat("x\n", maxFile/2-3) + "known-secret" + strings.Repeat("line\n", maxFile/5))
	r.add("begin", long)
	r.addTail("end", append(long, "known-secret"...), false)
	r.addTail("part", []byte("own-secret of a line\nrest\n"), true)
	for i, want := range []string{"x\n[redac", "line\n[redacted]", "rest\n"} {
		f := r.Files[i]
		if !f.Cut || len(f.text) > maxFile || i < 2 && len(f.text) < maxFile/2 || !bytes.HasSuffix(f.text, []byte(want)) || bytes.Contains(f.text, []byte("known")) || bytes.Contains(f.text, []byte("secret")) {
			t.Errorf("%s: %d bytes, cut: %v, end %q", f.Name, len(f.text), f.Cut, f.text[max(len(f.text)-20, 0):])
		}
	}
	for range 2 * maxReport / maxFile {
		r.keep(File{Name: "more", text: long[:maxFile]})
	}
	if r.size > maxReport || r.lacksAny("more") == 0 {
		t.Errorf("%d bytes, missing: %+v", r.size, r.Missing)
	}
}

func (r *Report) lacksAny(what string) (n int) {
	for _, m := range r.Missing {
		if m.What == what {
			n++
		}
	}
	return n
}

// TestTail: if a file is longer than maxFile, tail reads its end.
func TestTail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, append(bytes.Repeat([]byte("x"), maxFile), "end"...), 0o600); err != nil {
		t.Fatal(err)
	}
	text, cut, err := tail(file)
	if err != nil || !cut || len(text) != maxFile || !bytes.HasSuffix(text, []byte("xend")) {
		t.Errorf("%d bytes, %v, %v", len(text), cut, err)
	}
}

// TestCommandEnds: a program that runs too long is killed, and only a bounded part of its output is kept.
func TestCommandEnds(t *testing.T) {
	spec.Covers(t, "OP-46")
	r := &Report{answer: 50 * time.Millisecond}
	if out, err := r.output(t.Context(), false, "yes"); err == nil || len(out) > maxOutput {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	r.answer = time.Minute
	if out, err := r.output(t.Context(), false, "sh", "-c", "echo oldest; head -c 5000000 /dev/zero"); err != nil || len(out) != maxOutput || !bytes.HasPrefix(out, []byte("oldest\n")) {
		t.Errorf("%d bytes, %v: not the beginning", len(out), err)
	}
	if out, err := r.output(t.Context(), true, "sh", "-c", "head -c 9000000 /dev/zero; echo newest"); err != nil || len(out) != maxOutput || !bytes.HasSuffix(out, []byte("newest\n")) {
		t.Errorf("%d bytes, %v: the end of a log is not there", len(out), err)
	}
	if _, err := r.output(context.Background(), false, "no-such-program"); err == nil {
		t.Error("a program that is not there")
	}
}

// TestReadKeys: only regular, short files are read as key files, because the daemon, which names them, is
// not trusted.
func TestReadKeys(t *testing.T) {
	spec.Covers(t, "OP-45")
	dir := t.TempDir()
	key, long, pipe := filepath.Join(dir, "key"), filepath.Join(dir, "long"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(key, []byte("0123456789abcdef"), 0o600), os.WriteFile(long, make([]byte, maxKeys+1), 0o600), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	if text, err := readKeys(key); err != nil || string(text) != "0123456789abcdef" {
		t.Errorf("%q, %v", text, err)
	}
	for _, path := range []string{long, pipe, "/dev/null", filepath.Join(dir, "none")} {
		if text, err := readKeys(path); err == nil || len(text) > 0 {
			t.Errorf("%s: %d bytes, %v", path, len(text), err)
		}
	}
}

// TestManyKeyFiles: of more key files than the bound only the first ones are read, and the report names the others.
func TestManyKeyFiles(t *testing.T) {
	spec.Covers(t, "OP-45")
	var files []string
	for i := range maxKeyFiles + 1 {
		files = append(files, fmt.Sprintf("/nowhere/key%02d", i))
	}
	var r Report
	r.learnFiles(files)
	if len(r.Missing) != len(files) || !strings.Contains(r.Missing[0].Why, "no such file") || !strings.HasPrefix(r.Missing[maxKeyFiles].Why, "too many") {
		t.Errorf("%+v", r.Missing)
	}
}

// TestRelativePaths: a relative path in the configuration counts from the folder of the file that has it,
// and the path of that file counts from the daemon's directory.
func TestRelativePaths(t *testing.T) {
	spec.Covers(t, "OP-45")
	r := Report{dir: "/srv"}
	for from, want := range map[string]string{"conf/lnetd.yaml:3": "/srv/conf/key", "/etc/ulnet/lnetd.yaml:3": "/etc/ulnet/key", "lnetd.yaml:3": "/srv/key"} {
		if got := r.besides(from, "key"); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
}
