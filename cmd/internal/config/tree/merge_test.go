package tree

import (
	"strings"
	"testing"
)

// TestMerge: NIs and settings of a file replace those of the tree. Routes of the tree stay as they are, its
// rules get the priorities of the file and its peers the further NIDs, and what only the file has is added.
func TestMerge(t *testing.T) {
	base, err := Parse([]byte(`net:
  - net type: tcp
    local NI(s):
      - interfaces:
          0: eth0
route:
  - net: tcp2
    gateway: 10.0.0.9@tcp
    hop: 1
    priority: 0
peer:
  - primary nid: 10.0.0.2@tcp
    Multi-Rail: True
    peer ni:
      - nid: 10.0.0.2@tcp
udsp:
  - idx: 0
    src: tcp
    action:
      priority: 0
global:
  retry_count: 1
  numa_range: 2
`))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read([]byte(`net:
  - net type: tcp
    local NI(s):
      - interfaces:
          0: eth0
        tunables:
          peer_credits: 16
  - net type: lo
    local NI(s):
      - nid: 0@lo
  - net type: tcp1
    local NI(s):
      - interfaces:
          0: eth1
route:
  - net: tcp2
    gateway: 10.0.0.9@tcp
    hop: 3
  - net: tcp3
    gateway: 10.0.0.9@tcp
    hop: 1
peer:
  - primary nid: 10.0.0.2@tcp
    peer ni:
      - nid: 10.0.1.2@tcp1
  - primary nid: 10.0.0.3@tcp
udsp:
  - src: tcp
    action:
      priority: 7
  - src: tcp1
    action:
      priority: 1
global:
  retry_count: 3
buffers:
  tiny: 5
routing:
  - enable: 1
`))
	if err != nil {
		t.Fatal(err)
	}
	own, rules := base.Net[0].NIs[:1:1], base.UDSP
	base.Merge(f)
	if own[0].Tunables != nil || priority(rules[0]) != 0 {
		t.Error("merging has changed NIs or rules that another tree may share")
	}
	var out strings.Builder
	if err := Write(&out, base); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"net type: ": 2, "peer_credits: 16": 1, "0: eth0": 1, "0: eth1": 1, "gateway: 10.0.0.9@tcp": 2, "hop: 3": 0,
		"primary nid: ": 2, "nid: 10.0.1.2@tcp1": 1, "priority: 7": 1, "src: tcp1": 1, "retry_count: 3": 1, "numa_range: 2": 1,
		"tiny: 5": 1, "enable: 1": 1,
	} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%q stands there %d times, want %d", text, got, want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

// TestWithoutSettings: settings and numbers of router buffers are left out, all else and the file itself stay as they are.
func TestWithoutSettings(t *testing.T) {
	f, err := Read([]byte(`net:
  - net type: tcp
    local NI(s):
      - interfaces: {0: eth0}
global:
  retry_count: 1
numa:
  range: 2
routing:
  enable: 1
  tiny: 600
buffers:
  large: 600
udsp:
  - src: tcp
    priority: 1
nonsense: 1
`))
	if err != nil {
		t.Fatal(err)
	}
	count := func(f *File) (items, errs int) {
		for _, s := range f.Sections {
			items, errs = items+len(s.Items), errs+len(s.Errs)
		}
		return items, errs
	}
	rest := f.WithoutSettings()
	if items, errs := count(rest); items != 3 || errs != 1 || rest.Sections[0].Items[0].Net == nil {
		t.Errorf("%d items and %d errors remain of %+v", items, errs, rest.Sections)
	}
	if items, errs := count(f); items != 7 || errs != 1 {
		t.Errorf("%d items and %d errors are in the file", items, errs)
	}
}
