/** A page in the structure of a generator, with text of our own; what is content was marked by hand. */
export interface ModelPage {
  readonly name: string;
  readonly html: string;
  readonly content: { readonly name?: string; readonly role?: string };
  /** Classes and ids inside of the content that are not content. */
  readonly outside: readonly string[];
  /** Words that occur only in the navigation. */
  readonly navigation: readonly string[];
}

const SPHINX = `<!DOCTYPE html><html lang="en"><head><title>ponds — Fish Manual</title><style>.a{}</style></head><body>
<div class="related" role="navigation" aria-label="related navigation"><h3>Navigation</h3><ul><li class="right"><a href="../genindex.html">indexpage</a></li><li><a href="net.html">previoustopic</a></li></ul></div>
<div class="document"><div class="documentwrapper"><div class="bodywrapper"><div class="body" role="main">
<section id="module-ponds"><span id="ponds"></span><h1><a class="reference internal" href="#module-ponds" title="ponds"><code class="xref py py-mod docutils literal notranslate"><span class="pre">ponds</span></code></a> — Water that holds fish<a class="headerlink" href="#module-ponds" title="Permalink to this headline">¶</a></h1>
<p><strong>Source code:</strong> <a class="reference external" href="https://src.example/ponds.py">Lib/ponds.py</a></p><hr class="docutils" />
<p>A pond is opened with <a class="reference internal" href="#ponds.open" title="ponds.open"><code class="xref py py-func"><span class="pre">open()</span></code></a>; names like <code class="docutils literal"><span class="pre">__depth__</span></code> are reserved <a class="footnote-reference brackets" href="#id2" id="id1" role="doc-noteref"><span class="fn-bracket">[</span>1<span class="fn-bracket">]</span></a>.</p>
<dl class="py function"><dt class="sig sig-object py" id="ponds.open"><span class="sig-prename descclassname"><span class="pre">ponds.</span></span><span class="sig-name descname"><span class="pre">open</span></span><span class="sig-paren">(</span><em class="sig-param"><span class="n"><span class="pre">place</span></span></em>, <em class="sig-param"><span class="n"><span class="pre">depth</span></span><span class="o"><span class="pre">=</span></span><span class="default_value"><span class="pre">2</span></span></em><span class="sig-paren">)</span><a class="headerlink" href="#ponds.open">¶</a></dt>
<dd><p>Opens the pond at <em>place</em>. For example:</p>
<div class="highlight-python3 notranslate"><div class="highlight"><pre><span></span><span class="gp">&gt;&gt;&gt; </span><span class="kn">import</span> <span class="nn">ponds</span>
<span class="gp">&gt;&gt;&gt; </span><span class="k">with</span> <span class="n">ponds</span><span class="o">.</span><span class="n">open</span><span class="p">(</span><span class="s1">&#39;a &lt;b&gt; &amp; c&#39;</span><span class="p">)</span> <span class="k">as</span> <span class="n">pond</span><span class="p">:</span>
<span class="gp">... </span>    <span class="n">pond</span><span class="o">.</span><span class="n">fish</span>

<span class="go">[&#39;pike&#39;, \`carp\`]</span>
</pre></div></div>
<div class="versionchanged"><p><span class="versionmodified changed">Changed in version 3.8: </span>The <em>depth</em> argument was added.</p></div>
<div class="admonition seealso"><p class="admonition-title">See also</p><dl class="simple"><dt>Module <a class="reference internal" href="net.html"><code class="xref"><span class="pre">net</span></code></a></dt><dd><p>What fish are caught with.</p></dd></dl></div>
</dd></dl>
<table class="docutils align-default"><thead><tr class="row-odd"><th class="head"><p>Mode</p></th><th class="head"><p>Meaning</p></th></tr></thead><tbody><tr><td><p><code class="docutils literal"><span class="pre">'r'|'w'</span></code></p></td><td><p>read or write</p><p>both at once</p></td></tr></tbody></table>
<p class="rubric">Footnotes</p><aside class="footnote-list brackets"><aside class="footnote brackets" id="id2" role="note"><span class="label"><span class="fn-bracket">[</span><a role="doc-backlink" href="#id1">1</a><span class="fn-bracket">]</span></span><p>Since the first edition of the manual.</p></aside></aside>
</section><div class="clearer"></div></div></div></div>
<div class="sphinxsidebar" role="navigation"><div class="sphinxsidebarwrapper"><h4>Previous topic</h4><p><a href="net.html">previoustopic</a></p><h3>This Page</h3><ul><li><a href="s">showsource</a></li></ul></div></div></div>
<div class="footer" role="contentinfo">© Copyright 2026, colophonwords</div></body></html>`;

const DOCBOOK = `<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "x.dtd"><html xmlns="http://www.w3.org/1999/xhtml"><head><title>3.2. Nets</title></head><body id="docContent">
<div class="navheader"><table width="100%"><tr><th colspan="5">runninghead</th></tr><tr><td><a accesskey="p" href="a.html">prevpage</a></td></tr></table><hr /></div>
<div class="sect1" id="NETS"><div class="titlepage"><div><div><h2 class="title" style="clear: both">3.2. Nets</h2></div></div></div>
<div class="toc"><dl class="toc"><dt><span class="sect2"><a href="nets.html#MESH">3.2.1. Mesh</a></span></dt></dl></div><a id="id-1.4" class="indexterm"></a>
<p>
    Recall the <code class="classname">net</code> from <a class="xref" href="b.html" title="Chapter 2">Chapter 2</a>:

</p><pre class="programlisting">
CREATE NET trawl (
        mesh      int,   -- in *mm*
        width     real
);

</pre><p>
   </p><div class="note"><h3 class="title">Note</h3><p>Nets wear out; see <em class="replaceable"><code>mesh_size</code></em>.</p></div>
<div class="variablelist"><dl class="variablelist"><dt><span class="term"><code class="literal">CAST </code><em class="replaceable"><code>net_name</code></em></span></dt><dd><p>Casts it.</p></dd><dt><span class="term">HAUL</span></dt><dd><p>Hauls it, and prints:</p><pre class="screen">
 fish | count
------+-------
 pike |     2
</pre></dd></dl></div>
<div class="sect2" id="MESH"><div class="titlepage"><div><div><h3 class="title">3.2.1. Mesh</h3></div></div></div><div class="orderedlist"><ol class="orderedlist" type="1"><li class="listitem"><p>Measure.</p></li><li class="listitem"><p>Knot again.</p><pre class="screen">$ knot --mesh 5
</pre></li></ol></div></div></div>
<div class="navfooter"><hr /><table><tr><td><a href="a.html">prevpage</a></td><td><a href="c.html">nextpage</a></td></tr></table></div></body></html>`;

const ASCIIDOC = `<!DOCTYPE html><html><head><title>fish-net(1)</title><script>var x = '<p>scriptwords</p>';</script></head><body class="manpage">
<div id="header"><h1>fish-net(1) Manual Page</h1><h2>NAME</h2><div class="sectionbody"><p>fish-net - Mend and cast nets</p></div></div>
<div id="content"><div class="sect1"><h2 id="_synopsis">SYNOPSIS</h2><div class="sectionbody"><div class="verseblock"><pre class="content"><em>fish net</em> [-v | --verbose] [--]
          [&lt;place&gt;&#8230;]</pre><div class="attribution"></div></div></div></div>
<div class="sect1"><h2 id="_options">OPTIONS</h2><div class="sectionbody"><div class="dlist"><dl><dt class="hdlist1">-v</dt><dt class="hdlist1">--verbose</dt><dd><p>Says more. Ends with <code>0</code>, or:</p><div class="listingblock"><div class="content"><pre><code>$ fish net -v
\tcast	once</code></pre></div></div></dd></dl></div>
<div class="admonitionblock"><table><tr><td class="icon"><div class="title">Warning</div></td><td class="content">Not in a *storm*.</td></tr></table></div></div></div>
<div class="sect1"><h2 id="_fish">FISH</h2><div class="sectionbody"><p>Part of the fish suite, which is described elsewhere at length, for the patient reader who has a net and the time to mend it.</p></div></div></div>
<div id="footnotes"><hr /></div><div id="footer"><div id="footer-text">Last updated colophonwords</div></div></body></html>`;

const PUBLICAN = `<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title>第6章</title></head><body>
<div id="banner"><a href="http://x.example/get/"><span class="text">bannerwords</span></a></div><ul class="docnav top"><li class="previous"><a href="a.html"><strong>prevpage</strong></a></li><li class="home">runninghead</li></ul>
<div xml:lang="ja-JP" class="section" lang="ja-JP"><div class="titlepage"><div><div><h2 class="title"><a id="sect.net"></a>6.2. <code class="command">網</code>の使い方</h2></div></div></div>
<div class="para">網は<span class="emphasis"><em>「魚」</em></span>を捕るための道具です。<strong>重要</strong>な点は<a class="xref" href="b.html">6章</a>に書かれています。</div>
<pre class="screen"><code class="prompt"># </code><strong class="userinput"><code>網 --投げる</code></strong>
<code class="computeroutput">魚   2匹
</code></pre><div class="para" dir="rtl" lang="ar">الشبكة <strong>أداة</strong> لصيد السمك، انظر <a href="c.html">الفصل الثاني</a>.</div>
<div class="sidebar"><div class="titlepage"><div><div><p class="title"><strong>補足</strong> 網の歴史</p></div></div></div><div class="para">昔から使われています。</div></div></div>
<ul class="docnav"><li class="next"><a href="n.html"><strong>nextpage</strong></a></li></ul></body></html>`;

export const MODEL_PAGES: readonly ModelPage[] = [
  {
    name: 'Sphinx',
    html: SPHINX,
    content: { role: 'main' },
    outside: ['headerlink'],
    navigation: ['previoustopic', 'indexpage', 'showsource', 'colophonwords'],
  },
  {
    name: 'DocBook',
    html: DOCBOOK,
    content: { name: 'body' },
    outside: ['navheader', 'navfooter'],
    navigation: ['prevpage', 'nextpage', 'runninghead'],
  },
  {
    name: 'Asciidoc',
    html: ASCIIDOC,
    content: { name: 'body' },
    outside: ['footer'],
    navigation: ['colophonwords', 'scriptwords'],
  },
  {
    name: 'Publican',
    html: PUBLICAN,
    content: { name: 'body' },
    outside: ['banner', 'docnav'],
    navigation: ['bannerwords', 'prevpage', 'nextpage', 'runninghead'],
  },
];
