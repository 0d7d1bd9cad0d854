package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/bugreport"
	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/commands"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
)

// secretConfig has secrets in comments, in arguments of programs, and in files of keys.
const secretConfig = `# s3cret-comment
gossip:
  nids: ['127.0.0.1@tcp', '127.0.0.9@tcp']
  key_file: key
scoll:
  enable: 1
  key_file: key
  admin:
    allow_roots: ['127.0.0.1@tcp']
    actions:
      install:
        run: [/bin/cat, s3cret-action]
health:
  server: 1
  key_file: key
  claim_keys: claim
zone:
  name: rack1
  node: n1
rmcast:
  enable: 1
selftest: 1
handlers:
  mail:
    on: [gossip]
    run: [/bin/echo, '-H', 'Authorization: Bearer s3cret-handler']
`

// secretLog is the log of a daemon that tells secrets.
const secretLog = `2026-01-02T03:04:05 host lnetd[1]: level=INFO msg=kept-line
level=ERROR msg="s3cret-key-one-0123456789 was refused" token=s3cret-logged url=https://admin:s3cret-password@host/
level=ERROR msg="Authorization: Bearer s3cret-bearer" env=s3cret-environ-daemon and s3cret-environ-own
level=WARN msg="s3cret-action has failed" output="> X: \"s3cret-output\"\nrest"
`

// secretDaemon starts an lnetd with secrets wherever it may have some, in the folder dir.
func secretDaemon(t *testing.T, bin, dir string) (socket string) {
	t.Helper()
	for file, text := range map[string]string{
		"lnetd.yaml": secretConfig, "key": "s3cret-key-one-0123456789\ns3cret-key-two-0123456789\n", "claim": "s3cret-claim-0123456789\n",
		"journalctl": "#!/bin/sh\ncat <<'END'\n" + secretLog + "END\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(dir, "socket")
	cmd := exec.Command(filepath.Join(bin, "lnetd"), "--config", filepath.Join(dir, "lnetd.yaml"), "--networks", "tcp(127.0.0.1)",
		"--accept-port", fmt.Sprint(port), "--socket", socket, "--state-dir", filepath.Join(dir, "state"), "--runtime-dir", filepath.Join(dir, "run"))
	cmd.Env = append(os.Environ(), "CAPTURE_TOKEN=s3cret-environ-daemon", "METRICS_PASSWORD=s3cret-environ-metrics", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = t.Output()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("lnetd is not ready: %q, %v", line, err)
	}
	return socket
}

// unpacked returns the files of an archive, and the bytes of all of them with their names.
func unpacked(t *testing.T, path string) (files map[string]string, all string) {
	t.Helper()
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for r := tar.NewReader(bytes.NewReader(raw)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, string(raw)
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		files[name] = string(text)
	}
}

// TestBugreport: the report of a daemon has its state, and none of the secrets that configuration,
// files, environments and the log have. The file is the user's alone, and replaces nothing.
func TestBugreport(t *testing.T) {
	t.Parallel() // the test mostly waits for programs
	spec.Covers(t, "OP-44", "OP-45", "OP-47")
	bin, err := commands.Build(t.TempDir(), "lnetd", "lnetctl")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	socket, report := secretDaemon(t, bin, dir), filepath.Join(dir, "report.tar.gz")
	lnetctl := func(args ...string) (string, error) {
		cmd := exec.Command(filepath.Join(bin, "lnetctl"), append([]string{"--socket", socket, "bugreport", "--json", report}, args...)...)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "OWN_SECRET=s3cret-environ-own")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := lnetctl("--timeout", "1m", "--limit", "10m")
	if err != nil || !json.Valid([]byte(out)) {
		t.Fatalf("%v: %s", err, out)
	}
	if info, err := os.Stat(report); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	files, all := unpacked(t, report)
	if i := strings.Index(all+out, "s3cret"); i >= 0 {
		t.Errorf("a secret: …%q…", (all + out)[max(i-300, 0):i+40])
	}
	for name, part := range map[string]string{
		"daemon/status.json": `"127.0.0.1@tcp"`, "daemon/config.json": "gossip.key_file", "daemon/handlers.json": "/bin/echo", "daemon/gossip.json": "{",
		"daemon/scoll.json": "{", "daemon/health.json": "{", "daemon/keys.json": `"verified"`, "daemon/connections-tcp.json": "{", "daemon/peers.json": "{",
		"daemon/metrics.txt": "# HELP ulnet_", "daemon/profile-goroutine.txt": "goroutine ", "process/cmdline": "--accept-port", "process/status": "lnetd",
		"doctor.json": `"check": "daemon"`, "log.txt": "kept-line", "system/sysctl.txt": "net.core.rmem_max = ", "system/proc/net/dev": "lo:", "index.json": `"version"`,
	} {
		if !strings.Contains(files[name], part) {
			t.Errorf("%s has no %q:\n%.2000s", name, part, files[name])
		}
	}
	for _, m := range indexOf(t, files).Missing {
		if usual := m.What == "daemon/zone-census.json" || m.Why == "there is no session"; strings.HasPrefix(m.What, "daemon/") && !usual {
			t.Errorf("missing: %+v", m)
		}
	}
	if n := strings.Count(files["log.txt"], "[redacted]"); n != 8 {
		t.Errorf("%d secrets were taken out of the log, want 8:\n%s", n, files["log.txt"])
	}
	if out, err := lnetctl(); err == nil || !strings.Contains(out, "--force") {
		t.Errorf("a second report in the same file: %v, %s", err, out)
	}
	if out, err := lnetctl("--force", "--limit", "1ms"); err != nil {
		t.Errorf("--force: %v, %s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".bugreport-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func indexOf(t *testing.T, files map[string]string) (i bugreport.Index) {
	t.Helper()
	if err := json.Unmarshal([]byte(files["index.json"]), &i); err != nil {
		t.Fatal(err)
	}
	return i
}

// TestBugreportNames: a link in the place of the file is not followed. If the folder of the file does not
// exist, the error says what to do.
func TestBugreportNames(t *testing.T) {
	spec.Covers(t, "OP-47")
	f := &fakeServer{socket: filepath.Join(t.TempDir(), "none")}
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "aim"), link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{link: "--force", filepath.Join(dir, "none", "x"): "name a file in a folder"} {
		if code, _, errs := f.lnetctl(t.Context(), "bugreport", "--limit", "1ms", path); code != cli.Failed || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, %s", path, code, errs)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "aim")); err == nil {
		t.Error("the link was followed")
	}
}

// TestBugreportReplacesFilesOnly: --force replaces regular files only. If root could replace a
// device or a link, it would be lost for all programs of the host.
func TestBugreportReplacesFilesOnly(t *testing.T) {
	f := &fakeServer{socket: filepath.Join(t.TempDir(), "none")}
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("aim", link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link, dir} {
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		code, _, errs := f.lnetctl(t.Context(), "bugreport", "--limit", "1ms", "--force", path)
		if code != cli.Failed || !strings.Contains(errs, "not a regular file") || !strings.Contains(errs, "name another file") {
			t.Errorf("%s: exit code %d, %s", path, code, errs)
		}
		if after, err := os.Lstat(path); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s was replaced: %v", path, err)
		}
	}
}

// TestBugreportChecksAgain: the collection takes up to a minute. If a pipe gets the name of the report meanwhile,
// --force does not replace it, either.
func TestBugreportChecksAgain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "report")
	v := &reportVerb{force: true}
	if err := errors.Join(v.mayMake(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := v.write(path, new(bugreport.Report)); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("error %v", err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe was replaced: %v, %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".bugreport-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestProfileMakesItsFileFirst: a profile may take minutes. If its file cannot be made, the command
// therefore reports that before it asks the daemon. A file that exists already stays as it is.
func TestProfileMakesItsFileFirst(t *testing.T) {
	f := &fakeServer{socket: filepath.Join(t.TempDir(), "none")}
	path := filepath.Join(t.TempDir(), "cpu.pprof")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := f.lnetctl(t.Context(), "profile", "cpu", path); code != cli.Failed || !strings.Contains(errs, "file exists") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("the file has %q, %v", text, err)
	}
	free := path + ".2"
	if code, _, errs := f.lnetctl(t.Context(), "profile", "cpu", free); code != cli.Failed || !strings.Contains(errs, "no daemon") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if _, err := os.Lstat(free); err == nil {
		t.Error("a profile that failed left a file")
	}
}
