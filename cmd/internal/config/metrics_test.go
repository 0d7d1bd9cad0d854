package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// TestMetricsAddress: a port is a number or a text, and what is no address is an error with its
// position.
func TestMetricsAddress(t *testing.T) {
	for text, want := range map[string]string{
		"9420": "9420", "'9420'": "9420", ":9420": ":9420", "0.0.0.0:9420": "0.0.0.0:9420", "/run/m": "/run/m", "unix:m": "unix:m", `""`: "",
	} {
		c := Default()
		if _, err := c.parse("f", []byte("metrics: "+text+"\nmetrics_hosts: a  b.c\n")); err != nil || c.Metrics != want {
			t.Errorf("%s: %q, %v", text, c.Metrics, err)
		}
		if hosts := c.MetricsHosts(); !slices.Equal(hosts, []string{"a", "b.c"}) {
			t.Errorf("hosts %q", hosts)
		}
	}
	for _, text := range []string{"65536", "-1", "1.5", "true", "example.org:1", "[]", "9420 x"} {
		c := Default()
		if _, err := c.parse("f", []byte("metrics: "+text+"\n")); err == nil || !strings.HasPrefix(err.Error(), "f:1:10: metrics: ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestMetricsPage: metrics_page has one of three values.
func TestMetricsPage(t *testing.T) {
	for text, want := range map[string]string{"": PageLocal, "metrics_page: on\n": PageOn, "metrics_page: off\n": PageOff, "metrics_page: local\n": PageLocal} {
		c := Default()
		if _, err := c.parse("f", []byte(text)); err != nil || c.MetricsPage != want {
			t.Errorf("%q: %q, %v", text, c.MetricsPage, err)
		}
	}
	c := Default()
	if _, err := c.parse("f", []byte("metrics_page: yes\n")); err == nil || !strings.Contains(err.Error(), "f:1:15: metrics_page: want local, on or off") {
		t.Error(err)
	}
}

// TestCaptureToken: a relative path of the token's file counts from the folder of the configuration. A
// token that is too short, and a file that others can read, are refused. No error has any of the file's
// text.
func TestCaptureToken(t *testing.T) {
	spec.Covers(t, "OP-70")
	dir := t.TempDir()
	file, secret := filepath.Join(dir, "token"), strings.Repeat("s3cret-", 5)
	parse := func() (c Config, err error) {
		c = Default()
		_, err = c.parse(filepath.Join(dir, "f"), []byte("metrics_capture_token: token\n"))
		return c, err
	}
	for _, c := range []struct {
		text string
		mode os.FileMode
		err  string
	}{
		{secret + "\n", 0o600, ""},
		{secret, 0o640, ""},
		{secret + "\n", 0o644, "mode 0644"},
		{secret[:31] + "\n", 0o600, "token of 31 characters, want 32 to 256: 'openssl rand -hex 32'"},
		{"", 0o600, "token of 0 characters"},
		{strings.Repeat(secret, 10), 0o600, "token of 350 characters"},
		{strings.Repeat(secret, 200), 0o600, "more than 4096 bytes"},
		{secret + "\n" + secret + "\n", 0o600, "characters that no token has"},
		{secret + " x\n", 0o600, "characters that no token has"},
		{secret + "\u00e4", 0o600, "characters that no token has"},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, c.mode); err != nil {
			t.Fatal(err)
		}
		cfg, err := parse()
		if (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%.40q with mode %o: %v, want %q", c.text, c.mode, err, c.err)
		}
		if token, again := ReadToken(cfg.MetricsToken); err == nil && (again != nil || string(token) != secret) {
			t.Errorf("%.40q: %q, %v", c.text, token, again)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := parse(); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}
