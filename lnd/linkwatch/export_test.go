package linkwatch

// Again makes the watcher begin a round of dumps. At the end of the round the watcher calls its
// callback, changed.
func (w *Watcher) Again() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tracker.again = true
}
