package webcapture

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// downloadTimeout is the time in which a client must receive one piece of a download.
const downloadTimeout = 10 * time.Second

// maxPiece bounds a piece of a download in bytes.
const maxPiece = 1 << 20

// download answers with the last capture, or with as much as there is of the one that runs.
func (c *Capture) download(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	kept := c.last
	c.mu.Unlock()
	if kept == nil {
		http.Error(w, "there is no capture: one is kept for 10 minutes, until the next one begins", http.StatusNotFound)
		return
	}
	select {
	case c.downloads <- struct{}{}:
		defer func() { <-c.downloads }()
	default:
		w.Header().Set("Retry-After", "10")
		http.Error(w, "another download goes on: there is one at a time", http.StatusServiceUnavailable)
		return
	}
	chunks, size := kept.all()
	h := w.Header()
	h.Set("Content-Type", "application/x-pcapng")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": c.cfg.Name + ".pcapng"}))
	h.Set("Content-Length", strconv.Itoa(size))
	if r.Method == http.MethodHead {
		return
	}
	for _, chunk := range chunks {
		for piece := range slices.Chunk(chunk, maxPiece) {
			if !send(w, piece) {
				return
			}
		}
	}
}

// send sends a piece of a download, and reports whether the client can have received it.
func send(w http.ResponseWriter, piece []byte) bool {
	if http.NewResponseController(w).SetWriteDeadline(time.Now().Add(downloadTimeout)) != nil {
		return false
	}
	_, err := w.Write(piece)
	return err == nil
}
