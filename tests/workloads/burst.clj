;; Clojure starts up and compiles its libraries: thousands of classes, then silence.
(println "ready")
(flush)
(require 'clojure.test 'clojure.pprint 'clojure.set 'clojure.walk 'clojure.zip 'clojure.xml
         'clojure.data 'clojure.string 'clojure.repl 'clojure.inspector :reload)
(dotimes [n 50] (clojure.pprint/cl-format nil "~R" n))
(Thread/sleep (* 1000 (Long/parseLong (or (first *command-line-args*) "60"))))
(println "done")
(shutdown-agents)
