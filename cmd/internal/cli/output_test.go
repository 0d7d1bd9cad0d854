package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
)

type peer struct {
	NID       string         `json:"primary nid"`
	MultiRail bool           `json:"Multi-Rail"`
	Bits      uint64         `json:"bits"`
	Message   string         `json:"descr,omitempty"`
	Counts    map[string]int `json:"counts,omitempty"`
	NIs       []peer         `json:"peer ni,omitempty"`
}

func TestPrint(t *testing.T) {
	v := map[string][]peer{"peer": {
		{NID: "0@lo", MultiRail: true, Bits: 1 << 63, Message: "failed: yes # really"},
		{NID: "10.0.0.1@tcp", Counts: map[string]int{"0": -1}, NIs: []peer{{NID: "x", Message: "two\nlines"}}},
	}}
	for _, test := range []struct {
		name string
		json bool
		want string
	}{
		{"yaml", false, `peer:
    - primary nid: 0@lo
      Multi-Rail: True
      bits: 9223372036854775808
      descr: "failed: yes # really"
    - primary nid: 10.0.0.1@tcp
      Multi-Rail: False
      bits: 0
      counts:
          0: -1
      peer ni:
        - primary nid: x
          Multi-Rail: False
          bits: 0
          descr: "two\nlines"
`},
		{"json", true, `{
  "peer": [
    {
      "primary nid": "0@lo",
      "Multi-Rail": true,
      "bits": 9223372036854775808,
      "descr": "failed: yes # really"
    },
    {
      "primary nid": "10.0.0.1@tcp",
      "Multi-Rail": false,
      "bits": 0,
      "counts": {
        "0": -1
      },
      "peer ni": [
        {
          "primary nid": "x",
          "Multi-Rail": false,
          "bits": 0,
          "descr": "two\nlines"
        }
      ]
    }
  ]
}
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b strings.Builder
			if err := cli.Print(&b, test.json, v); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTable(t *testing.T) {
	var table cli.Table
	table.Row("NID", "STATE")
	table.Row("10.0.0.1@tcp", "up")
	var b strings.Builder
	if err := table.Print(&b); err != nil {
		t.Fatal(err)
	}
	want := "NID           STATE\n10.0.0.1@tcp  up\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestIsTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if cli.IsTerminal(f) {
		t.Error("a regular file is a terminal")
	}
	if cli.IsTerminal(&strings.Builder{}) {
		t.Error("a buffer is a terminal")
	}
}
