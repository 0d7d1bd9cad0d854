package metrics

import (
	"fmt"
	"net/http"
	"strings"

	"ulnet/cmd/internal/node"
	"ulnet/lnet/wire"
)

// readyz answers with 200 if an NI of the node is up, and with 503 if none is, or if the node is
// stuck. The rate at which it reads the state of the node is bounded in the same way as that of
// scrapes, see kept.
func readyz(status func() node.Status) http.Handler {
	type reply struct {
		text  string
		ready bool
	}
	replies := kept[reply]{limit: probeTimeout, make: func() reply {
		text, ready := readiness(status())
		return reply{text, ready}
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		now, ok := replies.get()
		if !ok {
			now.text = errStuck.Error() + "\n"
		}
		if !now.ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, now.text)
	})
}

// readiness returns a line for each NI, and whether one of them is up.
func readiness(s node.Status) (text string, ready bool) {
	var b strings.Builder
	for i := range s.NIs {
		n := &s.NIs[i]
		if n.NID.IsLo() {
			continue
		}
		ready = ready || n.Status == wire.StatusUp.String()
		fmt.Fprintf(&b, "%v %s %s\n", n.NID, n.Status, n.Cause)
	}
	if !ready {
		fmt.Fprintln(&b, "no NI is up: see 'lnetctl net show -v'")
	}
	return b.String(), ready
}
