package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// modprobeFolder makes a folder with these files.
func modprobeFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestParseModprobe(t *testing.T) {
	text := "# comment\nalias lnet x\noptions lnet networks=\"tcp0(eth0), o2ib(ib0)\" accept=all\n" +
		"  options\tlnet \\\n   routes='o2ib 10.0.0.1@tcp' \\\n forwarding=enabled\r\n#options lnet accept=none\noptions lnet\n" +
		"options ko2iblnd-opa peer_credits=128\noptions lnet \"networks=tcp(eth1)\" bare"
	want := []moduleOption{
		{"f", 3, "lnet", "networks", "tcp0(eth0), o2ib(ib0)"},
		{"f", 3, "lnet", "accept", "all"},
		{"f", 4, "lnet", "routes", "o2ib 10.0.0.1@tcp"},
		{"f", 4, "lnet", "forwarding", "enabled"},
		{"f", 9, "ko2iblnd_opa", "peer_credits", "128"},
		{"f", 10, "lnet", "networks", "tcp(eth1)"},
		{"f", 10, "lnet", "bare", ""},
	}
	if diff := cmp.Diff(want, parseModprobe("f", text), cmp.AllowUnexported(moduleOption{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestReadModprobe: options set the settings of the same name. If an option is in several
// files, the last file by name wins. An option of ksocklnd does not apply to RDMA.
func TestReadModprobe(t *testing.T) {
	dir := modprobeFolder(t, map[string]string{
		"b.conf": "options lnet networks=tcp1(eth1) lnet_retry_count=3 tiny_router_buffers=512\n" +
			"options ksocklnd credits=512 sock_timeout=0x20 conns_per_peer=4 nagle=Y nscheds=6\n",
		"a.conf":    "options lnet networks=tcp(eth0) accept=all nosuch=1 config_on_load=1\noptions ptlrpc at_max=600\n",
		"c.conf":    "\noptions ko2iblnd peer_credits=32 bogus=7\n",
		"d.conf.no": "options lnet networks=tcp9(eth9)\n",
	})
	c := Default()
	sources, warnings, err := c.ReadModprobe(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Networks, want.RetryCount, want.Accept, want.Routing.Tiny = "tcp1(eth1)", 3, "all", 512
	want.Credits, want.O2IB.Credits, want.O2IB.PeerCredits = 512, 256, 32
	want.TCP.SockTimeout, want.TCP.ConnsPerPeer, want.TCP.Nagle = 32*time.Second, 4, true
	if diff := cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var texts []string
	for _, w := range warnings {
		texts = append(texts, strings.TrimPrefix(w.String(), dir+"/"))
	}
	if diff := cmp.Diff([]string{
		`a.conf:1: options lnet: unknown option "nosuch"`,
		"a.conf:1: options lnet: config_on_load has no meaning here",
		"b.conf:2: options ksocklnd: nscheds has no meaning here",
		`c.conf:2: options ko2iblnd: unknown option "bogus"`,
	}, texts); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if last := sources[len(sources)-1]; last != (Source{"o2ib.peer_credits", "32", dir + "/c.conf:2"}) {
		t.Errorf("last source %+v", last)
	}
}

// TestModprobeErrors: values that do not fit are errors with file and line.
func TestModprobeErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"\noptions ksocklnd peer_credits=many", `:2:1: options ksocklnd peer_credits: want a whole number`},
		{"options lnet networks=nosuch(eth0)", `:1:1: options lnet networks: `},
		{"options lnet accept=maybe", `options lnet accept: want secure, all, none or trust, not "maybe"`},
		{"options lnet forwarding=1", "options lnet forwarding: want enabled or disabled"},
		{"options lnet networks=tcp ip2nets=\"tcp 10.*.*.*\"", "networks and ip2nets exclude each other"},
		{"options lnet lnet_retry_count=5 lnet_transaction_timeout=4", "lnet_transaction_timeout (4) has to be more than lnet_retry_count (5)"},
		{"options lnet networks=\"tcp: {a: 1}\\n\"", "options lnet networks: "},
	} {
		c := Default()
		dir := modprobeFolder(t, map[string]string{"lustre.conf": test.text})
		if _, _, err := c.ReadModprobe(dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %s", test.text, err, test.want)
		}
	}
	c := Default()
	if _, _, err := c.ReadModprobe(filepath.Join(t.TempDir(), "nosuch")); !os.IsNotExist(err) {
		t.Errorf("without a folder: %v", err)
	}
	if _, _, err := c.ReadModprobe("/dev/zero"); err == nil {
		t.Error("a device is a file of modprobe.d")
	}
	big := modprobeFolder(t, map[string]string{"big.conf": strings.Repeat("#", maxFileSize+1)})
	if _, _, err := c.ReadModprobe(big); err == nil {
		t.Error("a file without bound is read")
	}
}

// TestEmptyOptions: an option of a kernel module with an empty text, which is the module's default,
// leaves the default of this configuration.
func TestEmptyOptions(t *testing.T) {
	c := Default()
	dir := modprobeFolder(t, map[string]string{"lustre.conf": "options lnet networks=\"\" ip2nets= routes='' forwarding=\n"})
	sources, warnings, err := c.ReadModprobe(dir)
	if err != nil || len(sources) > 0 || len(warnings) > 0 || c.Networks != Default().Networks {
		t.Errorf("%v, %v, %v, networks %s", sources, warnings, err, c.Networks)
	}
}

// FuzzModprobe: any file is either read or refused, and no word keeps the quotation marks around
// it.
func FuzzModprobe(f *testing.F) {
	f.Add("options lnet networks=\"tcp(eth0)\" \\\n accept=all\noptions ko2iblnd peer_credits=0x20 cksum=Y")
	f.Add("options ksocklnd credits='1\" \\")
	f.Fuzz(func(t *testing.T, text string) {
		c := Default()
		for _, o := range parseModprobe("f", text) {
			if o.line < 1 || o.line > strings.Count(text, "\n")+1 || strings.ContainsAny(o.name, "=\n") {
				t.Errorf("%+v", o)
			}
			if put, key, warning := c.moduleSetting(o); warning == "" {
				if err := put(o.value); err == nil && key == "" {
					t.Errorf("%+v is no key", o)
				}
			}
		}
	})
}

// TestKernelOnly: kernelOnly does not contain options that set a key of lnetd's file.
func TestKernelOnly(t *testing.T) {
	c := Default()
	for module, names := range kernelOnly {
		settings := c.moduleSettings(module)
		for _, name := range strings.Fields(names) {
			if _, ok := settings[name]; ok {
				t.Errorf("%s: %s is a setting", module, name)
			}
		}
	}
}
