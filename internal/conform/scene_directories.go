package conform

import "os"

// sceneDirectories is sessions in directories that are good and others that are not.
var sceneDirectories = scene{
	name:  "directories",
	about: "sessions in directories that are not absolute, are not there, or are files; params that make no sense",
	play: func(a *actor) {
		if _, ok := a.session(); !ok {
			return
		}
		file := a.path("file")
		if err := os.WriteFile(file, []byte("no directory\n"), 0o600); err != nil {
			a.bar("the scratch directory: %v", err)
			return
		}
		a.call("new-control", "session/new", newParams(a.mkdir("control"))) // some have one session only
		a.lull()
		for _, wrong := range []struct {
			label  string
			params map[string]any
		}{
			{"new-relative", newParams(".")},
			{"new-missing", newParams(a.path("nowhere"))},
			{"new-file", newParams(file)},
			{"new-without-cwd", map[string]any{"mcpServers": []any{}}},
		} {
			a.call(wrong.label, "session/new", wrong.params)
			a.lull()
		}
		meta := newParams(a.mkdir("meta"))
		meta["_meta"] = map[string]any{"errand.example/check": []any{1, "two", nil}}
		a.call("new-meta", "session/new", meta)
		a.call("new-after", "session/new", newParams(a.mkdir("after")))
	},
}
