package faults

import "time"

func transportRows() []row {
	return []row{
		{id: "T1", does: "sends a burst of 5,000 updates to a slow consumer, then the response", forms: []form{
			{script: "t01-burst", slow: time.Millisecond, want: "completed; 53893 bytes of text; 5000 updates; exit status 0"},
		}},
		{id: "T5", does: "sends 900 updates of 2 KB and the response, and exits at once", forms: []form{
			{script: "t05-burst-then-exit", want: "completed; 1800000 bytes of text; 900 updates; exit status 0"},
		}},
	}
}
