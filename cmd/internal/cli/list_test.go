package cli_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
)

type listed struct {
	Name string   `json:"name"`
	IDs  []int    `json:"ids"`
	More []listed `json:"more,omitempty"`
}

// TestListPrinter: a list that is printed in parts has the same text as one that is printed at
// once.
func TestListPrinter(t *testing.T) {
	items := []listed{{Name: "a <b>"}, {"c", []int{1, 2}, []listed{{Name: "peer:"}}}, {"d", []int{}, nil}}
	for _, asJSON := range []bool{false, true} {
		for name, parts := range map[string][][]listed{
			"nothing":     {{}, nil},
			"one":         {items[:1]},
			"at once":     {items},
			"in parts":    {items[:2], nil, items[2:]},
			"one by one":  {items[:1], items[1:2], items[2:]},
			"parts again": {items, items[1:]},
		} {
			all := []listed{}
			var got, want bytes.Buffer
			p := cli.NewListPrinter[listed](&got, asJSON, "peer", cli.YAML)
			for _, part := range parts {
				all = append(all, part...)
				if err := p.Add(part); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			if err := cli.Print(&want, asJSON, map[string][]listed{"peer": all}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.String(), got.String()); diff != "" {
				t.Errorf("%s, JSON %v (-want +got):\n%s", name, asJSON, diff)
			}
		}
	}
}
