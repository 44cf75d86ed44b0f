# JRuby starts up, compiles what is hot, and then idles: hundreds of lambdas, no explosion.
require 'json'
require 'set'
puts 'ready'
STDOUT.flush
60.times { |i| eval "def m#{i}(n); [n].map { |x| x + #{i} }.sum; end" }
200.times { |n| 60.times { |i| send("m#{i}", n) } }
200.times { |n| JSON.parse(JSON.generate({ 'n' => n, 's' => Set.new([n]).to_a })) }
sleep ARGV[0].to_i
puts 'done'
