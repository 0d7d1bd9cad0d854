package page

import (
	"net/http"
	"time"

	"ulnet/cmd/internal/web"
)

// serveEvents sends the state, and then what has changed, as server-sent events. A browser that
// reads slowly gets fewer messages, each with all that has changed since its last one; nothing is
// queued for it. One that does not read for 10 s is disconnected.
func (p *Page) serveEvents(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return
	}
	select {
	case p.streams <- struct{}{}:
		defer func() { <-p.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many browsers follow this page: close some", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(p.interval)
	defer tick.Stop()
	for seen := uint64(0); ; {
		message, version, _ := p.since(seen) // nil if the node is stuck: the browser gets a comment, and its script notices that no event comes
		if seen = version; !web.SendEvent(w, message) {
			return
		}
		select {
		case <-tick.C:
		case <-p.done:
			return
		case <-r.Context().Done():
			return
		}
	}
}
