//go:build linux

package installtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/cmd/internal/commands"
	"ulnet/cmd/internal/journal"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/needs"
)

// journald is where Debian's package systemd has the program.
const journald = "/lib/systemd/systemd-journald"

// inJournal runs lnetd with a journald of its own, in namespaces that end with the script, and prints
// the two log lines that say that the node is ready and that it has stopped. $1 is the folder of the
// commands, $2 an empty folder, $3 and $4 are the message ids of these lines.
const inJournal = `
await() { for _ in $(seq 600); do "$@" && return; sleep 0.05; done; echo "$* is late" >&2; exit 1; }
mount -t tmpfs tmpfs /run
mkdir -p /run/log/journal /run/systemd/journal
ip link set lo up
` + journald + ` &
await [ -S /run/systemd/journal/socket -a -S /run/systemd/journal/stdout ]
systemd-cat sh -c 'JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec "$0" "$@"' \
	"$1/lnetd" --networks 'tcp(127.0.0.2)' --accept-port 9881 --state-dir "$2" --runtime-dir /run/lnetd &
lnetd=$!
await [ -S /run/lnetd/lnetd.sock ]
lines() { journalctl -D /run/log/journal --no-pager -o json "MESSAGE_ID=$1" | tail -n 1 | grep .; }
await lines "$3"
kill $lnetd && wait $lnetd
await lines "$4"
`

// TestJournald: a real journald has the lines of lnetd with their fields, and its catalog explains
// them.
func TestJournald(t *testing.T) {
	if !effort.Long() {
		t.Skip("starts a journald: runs with ULNET_LONG=1")
	}
	journalctl := needs.Program(t, "journalctl")
	if os.Getuid() != 0 {
		t.Skip("only root starts a journald")
	}
	bin, err := commands.Build(t.TempDir(), "lnetd")
	if err != nil {
		t.Fatal(err)
	}
	if bin, err = filepath.Abs(bin); err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, id := range journal.IDs {
		ids[id.Text] = id.ID
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
		"bash", "-euc", inJournal, "bash", bin, t.TempDir(), ids["ready"], ids["stopped"])
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, &said)
	}
	var line map[string]string
	if err := json.NewDecoder(strings.NewReader(string(out))).Decode(&line); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for field, want := range map[string]string{
		"PRIORITY": "6", "SYSLOG_IDENTIFIER": "lnetd", "ULNET_NIDS": "127.0.0.2@tcp", "_TRANSPORT": "journal",
		"MESSAGE": "ready nids=127.0.0.2@tcp accept_port=9881 accept=trust socket=/run/lnetd/lnetd.sock",
	} {
		if line[field] != want {
			t.Errorf("%s=%q, want %q", field, line[field], want)
		}
	}
	root := t.TempDir()
	writeFile(t, filepath.Join(root, "usr/lib/systemd/catalog/ulnet.catalog"), readFile(t, filepath.Join(units, "ulnet.catalog")))
	if err := os.MkdirAll(filepath.Join(root, "var/lib/systemd/catalog"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--update-catalog"}, {"--dump-catalog"}} {
		out, err = exec.CommandContext(t.Context(), journalctl, append(args, "--root="+root)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	if n := strings.Count(string(out), "Defined-By: ulnet"); n != len(journal.IDs) {
		t.Errorf("the catalog has %d entries, want %d:\n%s", n, len(journal.IDs), out)
	}
}
