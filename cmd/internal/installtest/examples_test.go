package installtest

import (
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"ulnet/cmd/internal/config"
)

// object is an object of Kubernetes or compose, as far as tests look at it.
type object = map[string]any

// at returns the value at a path of keys and indexes.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for i, p := range path {
		ok := false
		switch p := p.(type) {
		case string:
			var m object
			if m, ok = v.(object); ok {
				v, ok = m[p]
			}
		case int:
			var list []any
			if list, ok = v.([]any); ok && p < len(list) {
				v = list[p]
			}
		}
		if !ok {
			t.Fatalf("nothing at %v", path[:i+1])
		}
	}
	return v
}

func documentsOf(t *testing.T, name string) (list []object) {
	t.Helper()
	for d := yaml.NewDecoder(strings.NewReader(readFile(t, filepath.Join(root, "contrib", name)))); ; {
		var o object
		err := d.Decode(&o)
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, o)
	}
}

// kubernetes is what the example for Kubernetes says.
type kubernetes struct {
	config string   // configuration of lnetd
	pod    any      // specification of the pods
	probes []string // URLs of the probes
}

func readKubernetes(t *testing.T) (k kubernetes) {
	t.Helper()
	for _, o := range documentsOf(t, "kubernetes/lnetd.yaml") {
		switch at(t, o, "kind") {
		case "ConfigMap":
			k.config = at(t, o, "data", "lnetd.yaml").(string)
		case "DaemonSet":
			k.pod = at(t, o, "spec", "template", "spec")
			for _, p := range []string{"livenessProbe", "readinessProbe"} {
				get := at(t, k.pod, "containers", 0, p, "httpGet")
				k.probes = append(k.probes, fmt.Sprintf("http://%v:%v%v", at(t, get, "host"), at(t, get, "port"), at(t, get, "path")))
			}
			if match, labels := at(t, o, "spec", "selector", "matchLabels"), at(t, o, "spec", "template", "metadata", "labels"); fmt.Sprint(match) != fmt.Sprint(labels) {
				t.Errorf("the DaemonSet selects %v, its pods are %v", match, labels)
			}
		}
	}
	return k
}

// TestKubernetes: the example has a valid configuration. Its probes are pages of lnetd at the address
// of the metrics. Pods run as the image's user and write only to volumes. They may have one capability,
// which lnetd gets from its file because privilege escalation is allowed.
func TestKubernetes(t *testing.T) {
	k := readKubernetes(t)
	cfg, err := config.Parse("lnetd.yaml", []byte(k.config))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"http://" + cfg.Metrics + "/healthz", "http://" + cfg.Metrics + "/readyz"}; !slices.Equal(k.probes, want) {
		t.Errorf("probes %v, want %v", k.probes, want)
	}
	lnetd := at(t, k.pod, "containers", 0)
	user := imageUser(t)
	for _, check := range []struct {
		of   any
		path []any
		want string
	}{
		{k.pod, []any{"hostNetwork"}, "true"},
		{k.pod, []any{"securityContext", "runAsNonRoot"}, "true"},
		{k.pod, []any{"securityContext", "runAsUser"}, user},
		{k.pod, []any{"securityContext", "runAsGroup"}, user},
		{k.pod, []any{"securityContext", "fsGroup"}, user},
		{lnetd, []any{"image"}, "ulnet:latest"},
		{lnetd, []any{"securityContext", "readOnlyRootFilesystem"}, "true"},
		{lnetd, []any{"securityContext", "allowPrivilegeEscalation"}, "true"},
		{lnetd, []any{"securityContext", "capabilities", "drop"}, "[ALL]"},
		{lnetd, []any{"securityContext", "capabilities", "add"}, "[NET_BIND_SERVICE]"},
		{k.pod, []any{"initContainers", 0, "command", 2}, "chmod 0700 /var/lib/lnetd && chown " + user + ":" + user + " /var/lib/lnetd"},
		{k.pod, []any{"volumes", 1, "hostPath", "path"}, "/var/lib/ulnet-pod"},
	} {
		if got := fmt.Sprint(at(t, check.of, check.path...)); got != check.want {
			t.Errorf("%v is %s, want %s", check.path, got, check.want)
		}
	}
	var volumes, mounted, paths []string
	for i := range at(t, k.pod, "volumes").([]any) {
		volumes = append(volumes, at(t, k.pod, "volumes", i, "name").(string))
	}
	for i := range at(t, lnetd, "volumeMounts").([]any) {
		mounted = append(mounted, at(t, lnetd, "volumeMounts", i, "name").(string))
		paths = append(paths, at(t, lnetd, "volumeMounts", i, "mountPath").(string))
	}
	if !slices.Equal(volumes, mounted) || !slices.Equal(paths, []string{"/etc/ulnet", "/var/lib/lnetd", "/run/lnetd"}) {
		t.Errorf("volumes %v, mounted %v at %v", volumes, mounted, paths)
	}
}

// TestCompose: the nodes of the example have a valid configuration and the settings that the image needs.
// Their addresses belong to the example's network, and are the participants of gossip.
func TestCompose(t *testing.T) {
	o := documentsOf(t, "container/compose.yaml")[0]
	cfg, err := config.Parse("lnetd.yaml", []byte(at(t, o, "configs", "lnetd", "content").(string)))
	if err != nil {
		t.Fatal(err)
	}
	net := netip.MustParsePrefix(at(t, o, "networks", "lnet", "ipam", "config", 0, "subnet").(string))
	var nids, configured []string
	for _, name := range []string{"a", "b"} {
		node := at(t, o, "services", name)
		address := netip.MustParseAddr(at(t, node, "networks", "lnet", "ipv4_address").(string))
		if nids = append(nids, address.String()+"@tcp"); !net.Contains(address) {
			t.Errorf("%v is not in %v", address, net)
		}
		for _, check := range []struct {
			path []any
			want string
		}{
			{[]any{"image"}, "ulnet:latest"},
			{[]any{"read_only"}, "true"},
			{[]any{"cap_drop"}, "[ALL]"},
			{[]any{"cap_add"}, "[NET_BIND_SERVICE]"},
			{[]any{"tmpfs", 0}, "/run/lnetd:uid=" + imageUser(t) + ",gid=" + imageUser(t) + ",mode=0755"},
			{[]any{"volumes"}, "[" + name + ":/var/lib/lnetd]"},
			{[]any{"configs", 0, "target"}, "/etc/ulnet/lnetd.yaml"},
		} {
			if got := fmt.Sprint(at(t, node, check.path...)); got != check.want {
				t.Errorf("%s: %v is %s, want %s", name, check.path, got, check.want)
			}
		}
	}
	for _, id := range cfg.Gossip.NIDs {
		configured = append(configured, id.String())
	}
	if !slices.Equal(nids, configured) {
		t.Errorf("gossip has %v, the nodes are %v", configured, nids)
	}
}
