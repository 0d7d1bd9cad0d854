package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// grammar returns a tree of commands with options of all kinds.
func grammar() *cobra.Command {
	root := &cobra.Command{Use: "tool"}
	root.PersistentFlags().String("socket", "", "")
	noun := &cobra.Command{Use: "net"}
	verb := &cobra.Command{Use: "add", RunE: func(*cobra.Command, []string) error { return nil }}
	verb.Flags().StringP("net", "n", "", "")
	verb.Flags().String("nid", "", "")
	verb.Flags().String("source", "", "")
	verb.Flags().Int("hop", 0, "")
	verb.Flags().Int("health-sensitivity", 0, "")
	verb.Flags().String("prim_nid", "", "")
	verb.Flags().BoolP("all", "a", false, "")
	verb.Flags().IntP("verbose", "v", 0, "")
	verb.Flags().Lookup("verbose").NoOptDefVal = "1"
	noun.AddCommand(verb)
	root.AddCommand(noun)
	return root
}

// TestNormalise checks command lines with prefixes of options, values that look like options, and
// negative numbers.
func TestNormalise(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"net add --net tcp --hop -1", "net add --net tcp --hop -1"}, // the arguments are in the normal form already
		{"net add --ho -1", "net add --hop -1 --"},
		{"net add --ho=-1 x", "net add --hop=-1 -- x"},
		{"net add --verb 2", "net add --verbose -- 2"},
		{"net add x -1", "net add -- x -1"},
		{"net add -n -1 y", "net add -n -1 y"},
		{"net add -an -1 -5", "net add -an -1 -- -5"},
		{"net add -v -1", "net add -v -- -1"},
		{"net add --so a", "net add --source a --"}, // --source has precedence over --socket, which all commands have
		{"--soc s net add --al", "net add --socket s --all --"},
		{"net add --so a -- --ho", "net add --source a -- --ho"},
		{"net add --nosuch -1", "net add --nosuch -- -1"},
		{"net add --health_s 2", "net add --health-sensitivity 2 --"},
		{"net add --prim-n a", "net add --prim_nid a --"},
		{"net add --n x", "ambiguous"},
		{"nosuch --al", "nosuch --al"},
	} {
		got, err := normalise(grammar(), strings.Fields(test.line))
		if test.want == "ambiguous" {
			if err == nil || !strings.Contains(err.Error(), "--net, --nid") {
				t.Errorf("%s: %v, %v", test.line, got, err)
			}
			continue
		}
		if err != nil || !slices.Equal(got, strings.Fields(test.want)) {
			t.Errorf("%s: %q, %v, want %s", test.line, got, err, test.want)
		}
	}
}
