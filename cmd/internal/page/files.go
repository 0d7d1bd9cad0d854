package page

import (
	"embed"
	"net/http"
	"path"
	"strconv"
)

//go:embed files
var embedded embed.FS

// policy allows what the page consists of: files of this server, no code or style within them, and no
// request to another host.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// types are the content types of the files by the ends of their names.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// files returns the handlers of the embedded files. The page itself is at /.
func files() map[string]http.Handler {
	all := map[string]http.Handler{}
	list, err := embedded.ReadDir("files")
	if err != nil {
		panic(err) // the program was built without its files
	}
	for _, f := range list {
		body, err := embedded.ReadFile("files/" + f.Name())
		if err != nil {
			panic(err) // cannot fail: the file is in the list
		}
		at := "/" + f.Name()
		if f.Name() == "index.html" {
			at = "/"
		}
		all[at] = file(types[path.Ext(f.Name())], body)
	}
	return all
}

// file returns the handler of a file.
func file(contentType string, body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Content-Type", contentType)
		h.Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // an error means that the client is gone
	})
}
