//go:build linux

package installtest

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
)

// container is the part of an image's configuration by which a container runs.
type container struct {
	Config struct {
		User            string
		Env             []string
		Entrypoint, Cmd []string
		Volumes         map[string]struct{}
		Healthcheck     struct{ Test []string }
	} `json:"config"`
}

// TestImage: a container runs as the image and the example for Kubernetes say, without root and
// with a file system that is read-only. Its probes and its health check answer, and the latter
// fails when the node has ended.
func TestImage(t *testing.T) {
	spec.Covers(t, "OP-23")
	if os.Getuid() != 0 {
		t.Skip("only root makes containers")
	}
	tree, root := needTree(t), filepath.Join(t.TempDir(), "root")
	image := unpack(t, tree, root)
	k := readKubernetes(t)
	writeFile(t, filepath.Join(root, "etc/ulnet/lnetd.yaml"), k.config)
	// A runtime makes these folders.
	for _, dir := range []string{"proc", "run/notify"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	lab := netlab.New(t)
	host, other := lab.Host("container"), lab.Host("other")
	lab.Cable(host, "10.9.1.1/24", other, "10.9.1.2/24")
	remote := peer(t, filepath.Join(tree, "usr/bin/lnetd"), other)

	inside := func(args []string) *exec.Cmd {
		// The capabilities after net_bind_service are for unshare, mount and chroot, which prepare the
		// container: lnetd does not get them, because its file has none of them.
		cmd := exec.Command("unshare", append([]string{
			"--mount", "--", "setpriv", "--bounding-set=-all,+net_bind_service,+sys_admin,+sys_chroot,+setuid,+setgid",
			"bash", "-euc", confined, "bash", root, "/var/lib/lnetd /run/lnetd", image.Config.User,
		}, args...)...)
		cmd.Env = append([]string{"NOTIFY_SOCKET=/run/notify/socket"}, image.Config.Env...)
		// This PATH replaces that of the image, so that bash finds mount and chroot.
		cmd.Env = append(cmd.Env, "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
		return cmd
	}
	s := begin(t, inside(append(image.Config.Entrypoint, image.Config.Cmd...)), host, filepath.Join(root, "run/notify/socket"))
	for _, probe := range k.probes {
		if status := get(t, host, probe); status != http.StatusOK {
			t.Errorf("%s: status %d", probe, status)
		}
	}
	check := image.Config.Healthcheck.Test
	if check[0] != "CMD" {
		t.Fatalf("health check %v", check)
	}
	if out, err := within(host, inside(check[1:])); err != nil {
		t.Errorf("health check: %v\n%s", err, out)
	}
	if out, err := within(host, inside([]string{"/usr/bin/ulnet-lnetctl", "ping", "10.9.1.2@tcp"})); err != nil {
		t.Errorf("ping: %v\n%s", err, out)
	}
	s.stop()
	if out, err := within(host, inside(check[1:])); err == nil {
		t.Errorf("health check of a node that has ended:\n%s", out)
	}
	remote.stop()
}

// unpack builds an image of a tree, and unpacks its layer to root.
func unpack(t *testing.T, tree, root string) (c container) {
	t.Helper()
	file, dir := filepath.Join(t.TempDir(), "image.tar"), t.TempDir()
	run(t, exec.CommandContext(t.Context(), "go", "run", "ulnet/cmd/internal/image", "--release", "1.2.3", "--time", "1795000000", tree, file))
	run(t, exec.CommandContext(t.Context(), "tar", "-xf", file, "-C", dir))
	var saved []struct {
		Config string
		Layers []string
	}
	for _, part := range []struct {
		name func() string
		to   any
	}{{func() string { return "manifest.json" }, &saved}, {func() string { return saved[0].Config }, &c}} {
		if err := json.Unmarshal([]byte(readFile(t, filepath.Join(dir, part.name()))), part.to); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, layer := range saved[0].Layers {
		run(t, exec.CommandContext(t.Context(), "tar", "-xzpf", filepath.Join(dir, layer), "--numeric-owner", "--xattrs", "--xattrs-include=security.capability", "-C", root))
	}
	return c
}

// get asks for a page on a host, and returns the status of the answer.
func get(t *testing.T, on *netlab.Host, url string) int {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	var c net.Conn
	if err := on.Do(func() (err error) {
		c, err = net.Dial("tcp4", r.URL.Host)
		return err
	}); err != nil {
		t.Error(err)
		return 0
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(c); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), r)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

// imageUser is the number of the user in the image.
func imageUser(t *testing.T) string {
	t.Helper()
	_, rest, _ := strings.Cut(readFile(t, filepath.Join("..", "image", "layer.go")), "\nconst user = ")
	number, _, _ := strings.Cut(rest, "\n")
	return number
}
