-- Texts that steer agents
--
-- A memory outlives the conversation that it was written in, and the next agent reads it. A text that a tool, a page or a
-- repository put into one conversation may so become an order in all later ones. So a save of an agent whose text steers
-- agents is held: nothing is stored until a person has read it (59-save-status). remember and the tools of a knowledge graph,
-- which know no such wait for a new name, refuse it. A memory of a person or a program is stored.
--
-- A text steers agents when it does one of these, in any field or name:
--
--   override     asks its reader to ignore former instructions, or that rules and limits no longer apply
--   role         gives its reader another role or authority, or speaks as the system
--   safeguard    asks its reader to act without the person, or without a check, that would be asked
--   directive    asks to be kept as an instruction of the system
--   disclosure   asks its reader to give away credentials or its system prompt
--   command      carries a file of secrets to another machine, or runs the output of another machine
--   reader       names the agents that read it as those it speaks to
--   identity     is stored under a name that says the identity or the rights of an agent
--
-- A sentence about the work of a job or a test has the words of an order and is none, so forms of override, safeguard and
-- disclosure count in a sentence that speaks to its reader.
--
-- The forms are those of sentences, in English, German, French, Spanish, Italian, Portuguese, Russian, Chinese and Japanese; a
-- negation before one of them and in its clause takes it away ("never reveal the system prompt"). They are matched on the letters that a
-- reader sees: without characters that nobody sees and without accents, in lower case, with letters of other scripts that look
-- like Latin ones as these. They find openly stated orders. The visibility of an agent's saves, trust, and the frame around
-- recalled texts protect from the rest.
--
-- Locks: none.


create or replace function pgmem.steering_forms() returns table (
  kind text,
  language text,
  form text,
  also text[]
)
language sql immutable
begin atomic
  select f.kind, f.language, f.form, f.also::text[]
  from (values
    ('override', 'en', '(ignor|disregard|forget|overrid|overrul|bypass|set aside|throw out|discard|neglect|pay no (attention|heed) to|take no notice of)\w*\W+(\w+\W+){0,3}'
     '(previous(ly)?|prior|above|earlier|preceding|former|all|any|every|your|other|existing|original|initial|foregoing|past)\W+(\w+\W+){0,3}'
     '(instructions?|prompts?|directives?|guidelines?|guardrails?|rules|restrictions?|constraints|polic(y|ies)|orders|training|directions|guidance|programming)\M|'
     '(override|bypass|ignore|disregard|forget)\W+your\W+(\w+\W+){0,1}(programming|training|guidelines|instructions|safety)', null),
    ('override', 'en', '(you|yourself|assistants?|agents?|ai|model)\W+(\w+\W+){0,3}(free(d)?|released|liberated|exempt(ed)?|unbound)\W+(from|of)\W+(\w+\W+){0,3}'
     '(limitations?|limits|restrictions?|rules|guidelines?|constraints?|guardrails?|polic(y|ies))', null),
    ('override', 'en', '(rules|restrictions?|guidelines?|guardrails?|safeguards?|instructions?|limits|limitations)\W+(\w+\W+){0,3}'
     '(no longer|don''?t|do not|not) (apply|bind|hold|count|matter)\W+(\w+\W+){0,2}(to|for) (you|the (assistant|agent|model|ai))\M(?! (if|when|unless|\w+))', null),
    ('role', 'en', '(you are|you''re|you act|you will be|you must be|act|behave|respond|answer|operate|pretend to be|pretend|role-?play)\W+(\w+\W+){0,4}'
     '(unrestricted|unfiltered|uncensored|unlimited|jailbroken|dan|do anything now|administrator|an? admin|superuser|superadmin|'
     'root|(god|developer|debug|maintenance) mode|(no|without)( any)? (safety|ethical|content|moral)? ?'
     '(guidelines|restrictions|limits|limitations|filters|rules|constraints))\M', null),
    ('role', 'en', '(the |this |an? )?(assistant|agent|ai|model|bot|chatbot|copilot|claude|codex|you)\W+(now\W+)?'
     '(has|have|holds?|is|are|gets?|receives?|was|were|runs?)\W+(\w+\W+){0,4}'
     '(admin|administrator|administrative|root|superuser|superadmin|unrestricted|elevated|unlimited|god-?mode)\W+(\w+\W+){0,1}'
     '(rights?|access|privileges?|permissions?|authority|powers?|control)\M(?! (to|of|in|on|for|over|within|inside|during|while) (the|an?|our|its|their|each|this|that)\M)', null),
    ('role', 'en', '(system|assistant|developer|operator)( (message|prompt|note|override|notice))?\]?\s*:\s*(\w+\W+){0,3}'
     '(you|ignore|(always|never|must|do not)(?! (more|less|fewer|at|on|in|the|an?|both|all|one|two|three|only|use|\d+)\M)|from now on|reveal|disregard|override|approve|send)\M', null),
    ('role', 'en', '<\|?/?(im_start|im_end|system|sys|inst)\|?>|\[/?(inst|sys|system)\]|<<sys>>',
     array['^\s*(<|\[)|<\|im_start\|>\s*(system|user|assistant)|\[/(inst|sys|system)\]']),
    ('safeguard', 'en', '(skip|bypass|disable|circumvent|waive|evade|avoid|omit|suppress|without|never|do not|don''?t|no need (to|for)|'
     'instead of|rather than|stop)\W+(\w+\W+){0,3}(operator|user|human|person|owner|customer|administrator|admin|security|safety|'
     'supervisor|manager|anyone|nobody)''?s?\W+(\w+\W+){0,2}'
     '(confirmations?|approvals?|consent|permissions?|reviews?|checks?|authori[sz]ations?|verifications?|oversight|controls?|'
     'warnings?|sign-?offs?|knowledge)\M(?! (dialogs?|columns?|pages?|screens?|buttons?|fields?|forms?|tables?|tests?|panels?|tabs?)\M)', null),
    ('safeguard', 'en', '(without|never|do not|don''?t|no need to|need not|stop|before you)\W+(\w+\W+){0,2}'
     '(ask(ing)?|consult(ing)?|notify(ing)?|inform(ing)?|tell(ing)?|alert(ing)?|involv(e|ing)|bother(ing)?|check(ing)? with|'  -- words: as is
     'confirm(ing)? with|wait(ing)? for)\W+(the |your |any |an? |its )?(operator|user|human|owner|administrator|supervisor|'
     'security team|maintainers?)', null),
    ('safeguard', 'en', '(approve|allow|accept|authori[sz]e|grant|execute|run|send|transfer|export|share|pay|wire|install|confirm|trust)\W+(all|any|every|'
     'each|everything|whatever)\W+(\w+\W+){0,8}(without|no|skip(ping)?)\W+(\w+\W+){0,3}'
     '(review|approval|confirmation|asking|permission|authori[sz]ation|verification|checks?|questions?|consent|hesitation)', null),
    ('directive', 'en', '(remember|store|save|treat|keep|persist|record|adopt|consider|regard|register|add|promote|interpret)\W+(\w+\W+){0,4}(as|to|into|in)\W+'
     '(\w+\W+){0,4}(system|root|developer|core|permanent|standing|persistent|highest|top)\W+(\w+\W+){0,2}'
     '(directives?|instructions?|prompt|rules?|polic(y|ies)|orders?|commands?|authority|priority)', null),
    ('directive', 'en', '\[\s*(memory|persist|system|override|admin|instruction|directive)[_ -]?(persist\w*|memory|override|prompt|'
     'inject\w*|directive|instruction|command)\s*\]|(\[\w*(memory|instruction|system)\w*\s*=[^\]]*\]\s*){2,}', null),
    ('disclosure', 'en', '(reveal|leak|exfiltrate|disclose|divulge|expose|dump|hand over|give (out|away)|print( out)?|output|repeat|recite|share|publish|'
     'send|forward|upload|post|e?mail)\W+(\w+\W+){0,5}(your\W+(\w+\W+){0,2}|the\W+|all\W+(\w+\W+){0,2}|any\W+(\w+\W+){0,2}|stored\W+)'
     '(system prompts?|hidden prompts?|(initial|system|secret|hidden) instructions|credentials?|passwords?|secrets?|api keys?|'
     'private keys?|access tokens?|session tokens?|environment variables)', null),
    -- The agents that read the text are spoken to.
    ('reader', 'reader', '(ai|llms?|language models?|assistants?|agents?|models?|bots?)\W+(\w+\W+){0,2}(reads?|reading|sees?|seeing|process(es|ing)|pars(es|ing)|summari[sz](es|ing)|'
     'load(s|ing)|retriev(es|ing)|recall(s|ing)?|encounter(s|ing)?)\W+(this|these|the following)\M',
     array['^\W*(note|attention|dear|to|for|if|any|every|each|all|ai|llms?|agents?|assistants?|models?|when)\M|\m(must|shall|should|you)\M']),
    ('reader', 'reader', '((attention|dear|hello|listen|hey)\W+(\w+\W+){0,2}(model|llm|ai|assistant|agent)s?\M|'
     '(\w+ )?(note|message|notice|memo|directive|orders?|instructions?)\W+(\w+\W+){0,6}(to|for)\W+((any|all|every|each|other|future|coding|the|next|an?|automated)\W+){0,3}(ai|llms?|language models?|assistants?|agents?|models?)\M(?! \w+ (is|are|was|were)\M)|'
     '((ai|coding|other|future|all|any|every|llm|language) )*(ai|llms?|models?|assistants?|agents?)\s*:\s*(stop|do|don''t|you|always|never|please|ignore|open|send|fetch|run|from))|'
     'if you( are|''re)( an?| the| any)?( \w+)? (ai|llm|language model|assistant|agent|chatbot)\M|'
     'as an? ((automated|ai|artificial|autonomous|intelligent) )?(assistant|agent|model|ai),? you\M',
     array['^\W*(\w+ )?(attention|dear|hello|listen|hey|note|message|notice|memo|directive|orders?|instructions?|ai|coding|other|future|all|any|every|llms?|language|models?|assistants?|agents?)\M|if you|as an? ']),
    -- A person is kept from knowing or deciding.
    ('safeguard', 'hide', '(not|don''t|never|without|avoid) (let|letting)\W+(\w+\W+){0,1}(humans?|users?|person|people|operator|owner|anyone|anybody|customer)\W+(\w+\W+){0,1}(know|see|notice|find out|learn|suspect)\M|'
     '(keep|stay|remain) (silent|quiet|secret) about (it|this|that)\M|(keep|leave) (this|it) (strictly )?between (us|you and me)\M|'
     '(do not|don''t|never|without) (bring(ing)? (it|this) up|comment(ing)? on (it|this)|mention(ing)? (it|this|that you)|say(ing)? (that|why) you)\M|'
     '(not (necessary|required|needed)|unnecessary) to ask (the )?(user|human|person|owner|operator|customer)s?\M|'
     '(quietly|silently|secretly|covertly|discreetly|unnoticed|without comment),? (add|install|change|insert|append|include|send|remove|upload|delete|replace|commit|push|run|copy|forward|execute|publish|open)\M|'
     'permissions?\W+(was|were|is|are|has been|have been)\W+(\w+\W+){0,2}(given|granted)\W+(\w+\W+){0,4}(commands?|tools?|actions?|calls?)\M|'
     '(turn|switch) off (the )?(logging|logs|audit\w*|monitoring)\M.{0,60}\m(nobody|no one|so that|unseen|not seen)|'
     '(no reason|not allowed|never|do not|don''t|no need|nothing) to (decline|refuse|object)\M|(refus(al|ing)|declin(al|ing))\W+(\w+\W+){0,6}(counts?|is|be|as)\W+(\w+\W+){0,2}(failure|error|mistake|violation)\M', null),
    -- A text puts itself above the instructions of its reader, or above the user.
    ('override', 'above', '(precedence|priority|weight)\W+(\w+\W+){0,2}(over|above|than)\W+(\w+\W+){0,3}((words|wishes|requests?|messages?|instructions?) of (the|your) (user|owner|human|operator)|'
     'users?(''s)? (own )?(words|wishes|requests?|messages?|instructions?)|your( own)?( \w+)? (configuration|instructions?|rules|guidelines?|settings|training|prompt))|'
     '(whatever|no matter what|regardless of what|even (if|where|when|though)|despite what)\W+(the |your |his |her )?(user|human|person|owner|they|customer)\W+(\w+\W+){0,2}(wants?|says?|asks?|requests?|den(y|ies)|prefers?|objects?|tells?)\M|'  -- words: as is
     '(follow|obey|rely on|trust|believe|heed|observe|do as)\W+(only\W+)?(this|these|the following)\W+(\w+\W+){0,1}(note|message|text|memory|memo|page|file|comment|instruction|line)s?\W+(instead|alone|only|in place of|rather)\M|'
     '\mobey (it|this|them|these)\M|'
     'your\W+(\w+\W+){0,2}(briefing|instructions?|guidelines?|rules|prompt|orders|configuration)\W+(have|has|had|contain\w*|were|was|are|is)\W+(\w+\W+){0,3}'
     '(updated|replaced|errors?|mistakes?|void|obsolete|superseded|wrong|revoked|corrected|lifted|suspended)\M', null),
    ('override', 'above', '(disregard|forget|ignore|never ?mind|drop|discard|set aside|(what|all|every)(so)?ever|everything|anything)\W+(\w+\W+){0,1}((what|everything|anything|all|whatever)\W+(that\W+)?)?'
     '(you|i|we|they|was|has been|stands)\W+(were |was |have been |had been |have |had |''ve |been )*(told|said|taught|given|discussed|learned|written|agreed)\M|'  -- words: as is
     '(disregard|forget|ignore|never ?mind|discard)\W+(everything|anything|all|whatever)( (that|which) (is|was|stands|came))? (above|before|so far|earlier)\M|'  -- words: as is
     'everything\W+(\w+\W+){0,1}(above|before this|so far)\W+(is|was)\W+(\w+\W+){0,2}(sample|test|dummy|example|fiction|fake|padding)\M|'
     '(ignore|disregard|forget|drop)\W+(the|any|all|every|those|these)\W+(\w+\W+){0,1}(rules|instructions?|guidelines?|restrictions|orders|prompts?|guidance)\W+(\w+\W+){0,1}(given|stated|set|listed|told|written|received|mentioned)?\W*(earlier|before|above|previously|so far)\M', null),  -- words: as is
    ('override', 'above', '(guidance|instructions?|rules|guidelines?|guardrails?|limits|briefing|polic(y|ies)|restrictions|orders|training)\W+((that|which)\W+)?you\W+(were|have been|had been)\W+(\w+\W+){0,3}(given|trained|told|set|taught|shown|briefed|loaded)\M',  -- words: as is
     array['\m(set aside|off|void|no longer|forget|ignore|disregard|suggestions?|instead|lifted|gone|wrong|drop|leave|not|replaced|over)\M']),
    ('role', 'above', 'your\W+(\w+\W+){0,1}(real|actual|true|single|new|only|sole)\W+(task|job|goal|operator|owner|mission|purpose|principal|master|instructions?|orders?)\W+(is|are)\M|'
     'the (actual|real|true) (request|task|instructions?|prompt|user)\W+(begins?|starts?|follows?)\M|you no longer (work|act|speak|answer) (for|to)\M|'
     'treat\W+(\w+\W+){0,3}(requests?|words|messages|orders|commands)\W+(\w+\W+){0,2}as (if|though)\W+(\w+\W+){0,5}(owner|user|admin|administrator|operator|system|developer)''?s?\M|'
     '(as (though|if)|like) (you (had|have) no|there (were|was) no|no)\W+(\w+\W+){0,1}(polic(y|ies)|rules?|limits?|limitations?|guidelines?|instructions?|restrictions?|safety|filters?)\M|'
     '(unrestricted|unfiltered|uncensored|limitless|evil|unbound|free) (version|copy|twin|side) of (yourself|you|the assistant)\M|'
     '(activate|enable|enter|switch to|engage) (unrestricted|jailbreak|jailbroken|god|dan|unfiltered) mode\M|'
     'in (developer|god|admin|jailbreak|unrestricted) mode,? (you|the (assistant|model|agent|ai))\M', null),
    -- Secrets, prompts and conversations are carried out.
    ('disclosure', 'above', '(reveal|print|repeat|show|output|recite|display|answer|reproduce)\W+(\w+\W+){0,8}(text|words|message|everything|prompt|briefing|instructions)\W+(\w+\W+){0,4}'
     '((before|above|ahead of) the first|you were given|of your (briefing|instructions|prompt)|of your own|at the (very )?(start|beginning|top) of (this|the) (conversation|chat|session|context))|'  -- words: as is
     '(show|display|print|tell|give|reveal|output|list|what (are|is|were))( (me|us))? your (\w+ )?(internal|hidden|secret|initial|original|system|full|own) (instructions?|directives?|prompts?|rules|configuration|guidelines)', null),  -- words: as is
    ('command', 'secrets', '(upload|send|forward|post|copy|transfer|mail|push)\W+(\w+\W+){0,3}(repository|codebase|source code|sources|'
     '((every|all|each|entire|whole|this|last)\W+(\w+\W+){0,2}(conversations?|chats?|sessions?|prompts?|user messages?|memor(y|ies)|transcripts?)))\M', array['https?://(?!(github|gitlab)\.com)|\m[\w.-]+@[\w-]+\.|\d+\.\d+\.\d+\.\d+']),
    ('command', 'secrets', '(fetch|download|get|load|retrieve|open|visit|call|request)\M', array['https?://',
       '\m(pipe|feed|pass|into|through|with)\M.{0,30}\m(shell|bash|sh|interpreter|python|powershell)\M|\m(user|human|last) (message|prompt|question)\M.*\m(append|base64|followed by)\M|[?&]\w*=\W*followed by']),
    -- A command: its verb, and the parts that the same sentence has besides.
    ('command', 'command', '(copy|send|upload|post|push|transfer|forward|e?mail|ship|leak|exfiltrate|scp|rsync|sftp|curl|wget|cat|base64|tar|zip|nc|ncat|aws s3|'
     'invoke-webrequest|invoke-restmethod|iwr|irm)\M',
     array['\.ssh/|\mid_(rsa|ed25519|ecdsa|dsa)\M|(?<![\w/*])(?<!to )(?<!into )(?<!in )\.env\M(?!\.?(example|sample|template|test))|\.aws/|\.netrc\M|\.npmrc\M|\.pypirc\M|\.pgpass\M|/etc/(shadow|passwd)\M|kubeconfig|\.kube/|\.gnupg|\.docker/config|\.git-credentials|credentials\.json|service-account\S*\.json|\.pem\M|private key|\.bash_history|keychain|cookies\.sqlite', 'https?://|ftp://|s3://|gs://|\m[\w.-]+@[\w-]+[.:]|\m(nc|ncat) |pastebin|webhook|/dev/tcp/|\d+\.\d+\.\d+\.\d+|(an?|my|our|the) (external|remote|outside|attacker)']),
    ('command', 'command', '(curl|wget|nc|ncat)\M',
     array['\$\((env|printenv)\M|\m(env|printenv) ?(\||>)', 'https?://|\m[\w-]+\.[\w.-]+']),
    ('command', 'command', '(always|whenever|every|each|before|after|first|start|begin|run|execute|paste|type|call|do|use|please|must|should|need|now|eval|source|iex|invoke-expression)\M',
     array['\m(curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring)\M', '\|\s*(sudo\s+(-\w+\s+)*)?((/usr)?/bin/)?(env )?((ba|z|da|k|fi)?sh|python|perl|ruby|node|php|iex|invoke-expression)[\d.]*\M|(\m(ba|z|da|k)?sh\M[^|]{0,20}|\m(source|eval)\M.{0,4})(<\(|\$\(|`)\s*(curl|wget)\M|\m(iex|invoke-expression)\M']),
    ('command', 'command', '(always|whenever|every|each|before|after|first|start|run|execute|paste|type|use|please|must|should|echo)\M',
     array['\mbase64 (-d|--decode)\M', '\|\s*(ba|z|da)?sh\M']),
    -- German, without accents.
    ('override', 'de', '(ignorier|vergiss|vergesst|vergessen|missacht|ubergeh|umgeh|verwirf|verwerf|beachte nicht|setze|hebe)\w*(?!\W+(nie|niemals|nicht)\M)\W+(\w+\W+){0,3}'
     '(vorherig|vorig|bisherig|fruher|obig|vorangegangen|vorangehend|vorstehend|vorausgehend|alle|samtlich|jede|dein|eure|ihre|ursprunglich|bestehend|anderen)\w*\W+(\w+\W+){0,3}'
     '(system)?-?(anweisung|instruktion|vorgabe|regel|richtlinie|befehl|einschrankung|beschrankung|weisung|prompt)', null),
    ('override', 'de', '(vorherig|vorig|bisherig|fruher|obig|alle|samtlich|dein|ursprunglich)\w*\W+(\w+\W+){0,2}(anweisung|instruktion|vorgabe|regel|richtlinie|befehl|einschrankung|'
     'beschrankung|weisung)\w*\W+(?!(zu[mr]?|fur|von|vom|im|in|des|der|uber|ueber|bei|beim)\M)((?!nicht\M|nie\M|niemals\M)\w+\W+){0,4}(ignorier|vergess|missacht|ungultig|aufgehoben|hinfallig|ausser kraft|gelten (\w+ ){0,2}nicht)', null),
    ('role', 'de', '(du bist|sie sind|ihr seid|verhalte dich|agiere|handle|antworte)\W+(\w+\W+){0,4}(administrator|admin|root|uneingeschrankt|unbeschrankt|'
     'ohne (jede |alle )?(regeln|einschrankungen|beschrankungen|filter))', null),
    ('safeguard', 'de', '(ohne|nie|niemals|nicht)\W+(\w+\W+){0,2}(benutzer|nutzer|anwender|mensch|person|besitzer|eigentumer|kunde|betreiber)\w*\W+(\w+\W+){0,2}'
     '((zu )?(fragen|informieren|benachrichtigen|unterrichten)|um (erlaubnis|zustimmung|bestatigung))|'
     '(ohne|nie|niemals)\W+(\w+\W+){0,2}(zustimmung|ruckfrage|erlaubnis|freigabe|bestatigung|einwilligung|genehmigung|prufung)\W+(\w+\W+){0,2}'
     '(benutzer|nutzer|anwender|mensch|person|besitzer|eigentumer|kunde|betreiber)', null),
    ('disclosure', 'de', '(verrat|zeig|gib|sende|schick|nenne|druck|veroffentlich|leite|ubermittl|teile|lade)\w*(?!\W+(nie|niemals|nicht|keine)\M)\W+(\w+\W+){0,3}(alle|dein|deine|deinen|die|das|den|samtliche|gespeicherte\w*)\W+(\w+\W+){0,2}'
     '(system-?prompt|passwort|kennwort|zugangsdaten|anmeldedaten|geheimnisse|(api-?|private[nr]? |geheime[nr]? )schlussel|zugriffstoken|credentials|secrets)', null),
    ('override', 'de', '(vergiss|vergesst|vergessen|ignorier\w*|missacht\w*)\W+(\w+\W+){0,2}was\W+(\w+\W+){0,5}(gesagt|gegeben|befohlen|vorgegeben|aufgetragen)\M|'
     'gelten (nur noch|nur|ausschliesslich|allein)\W+(\w+\W+){0,2}(befehle|anweisungen|regeln|vorgaben)\W+(\w+\W+){0,1}(dieser|diesem|hier)\M|'
     '(egal|gleich|unabhangig davon),? was (der|die|dein) (be)?(nutzer|anwender|mensch|kunde)\w*\M', null),
    ('reader', 'de', '(jede|alle|an|fur)\W+(\w+\W+){0,1}(ki|kis|llm|assistent\w*|agent\w*|sprachmodell\w*)\M,?\W+(\w+\W+){0,1}(das|die|der|den)\W+(\w+\W+){0,2}(liest|lesen|sieht|sehen|verarbeit\w+)\M|'
     '(wenn|falls) du (\w+ ){0,2}(ki|assistent|agent|sprachmodell|llm)\M', null),
    ('safeguard', 'de', '(sag|sage|verrate|erzahl\w*|melde) (dem|der|den|einem) (be)?(nutzer|anwender|mensch|kunde)\w* (nichts|nicht)\M', null),
    -- French.
    ('override', 'fr', '(ignor|oubli|neglig|contourn|outrepass|enfrein|ne (tiens|tenez) (pas|aucun) compte|fai(s|tes) (fi|abstraction)|passe[rz]? outre)\w*(?!\W+(jamais|pas)\M)\W+(\w+\W+){0,4}'
     '(instruction|consigne|directive|regle|ordre|restriction|limite|prompt)s?\W+(\w+\W+){0,3}(precedent|anterieur|ci-dessus|initial|ci-avant|du systeme|systeme|d''origine|de depart|recu)', null),
    ('override', 'fr', '(ignor|oubli|neglig|contourn|outrepass|ne (tiens|tenez) (pas|aucun) compte|fai(s|tes) (fi|abstraction)|passe[rz]? outre)\w*(?!\W+(jamais|pas)\M)\W+(\w+\W+){0,1}(toutes?|tous|tes|vos|l''ensemble|n''importe)\W+(\w+\W+){0,4}'
     '(instructions?|consignes?|directives?|regles?|ordres?|restrictions?|limites?)', null),
    ('role', 'fr', '(tu es|vous etes|agis|agissez|reponds|repondez|comporte-toi)\W+(\w+\W+){0,4}(administrateur|admin|root|sans (aucune? )?(restriction|limite|filtre|regle))', null),
    ('safeguard', 'fr', '(sans|jamais|ne)\W+(\w+\W+){0,2}(demander|demandez|demande|prevenir|previens|prevenez|avertir|informer|informe|consulter|notifier|l''accord|la confirmation|l''autorisation|l''approbation|la validation|le consentement)'
     '\W+(\w+\W+){0,3}(utilisat\w+|humain|proprietaire|administrateur|client|personne)', null),
    ('disclosure', 'fr', '(revel|envoi|envoy|montr|affich|divulg|transmet|donne|partag|publi|imprim)\w*(?!\W+(jamais|pas)\M)\W+(\w+\W+){0,2}(tous|toutes|tes|ton|ta|les|le|la|vos|votre)\W+(\w+\W+){0,2}'
     '(prompt systeme|invite systeme|mots? de passe|identifiants|cles? (d''api|api|privees?|secretes?)|secrets|jetons|instructions (systeme|cachees|secretes))', null),
    ('reader', 'fr', '(a l''attention|note|message|avis)\W+(\w+\W+){0,3}(assistants?|agents?|ia|modeles?)\M|si (tu es|vous etes) (un |une )?(\w+ )?(ia|assistant|agent|modele)\M|'
     '(ia|assistant|agent|modele)s?\W+(\w+\W+){0,2}qui (lit|lisent|lisez|voit)\W+(ce|cette|ceci)', array['(?<!\w)(a l''attention|note aux?|message aux?|avis aux?|si tu|si vous|toute?|chaque|les?)\M']),
    ('override', 'fr', '(peu importe|quoi) (ce )?que (demande|dise|veuille|dit|veut) l''utilisateur', null),
    -- Spanish, Portuguese and Italian.
    ('override', 'es', '(ignor|olvid|omit|descart|desobede|desestim|caso omiso|desconsider|esquec|dimentic|trascur|scord|no (hagas|tengas|tenga) (caso|en cuenta))\w*\W+(\w+\W+){0,4}'
     '(instruccion|instruco|instrucao|istruzion|reglas?|regras?|regol|directri|diretri|directiv|direttiv|indicacion|indicac|ordenes|ordens|ordini|restriccion|restric|restrizion|normas|prompt)\w*\W+(\w+\W+){0,3}'
     '(anterior|previa|previo|precedent|de arriba|acima|del sistema|do sistema|di sistema|inicial|inizial|original|recibid|recebid|ricevut)', null),
    ('override', 'es', '(ignor|olvid|omit|descart|desobede|caso omiso|desconsider|esquec|dimentic|trascur)\w*\W+(\w+\W+){0,1}(todas?|todos|tus|sus|cualquier|tutt[ei]|tue|suas|quaisquer)\W+(\w+\W+){0,4}'
     '(instruccion|instruco|instruco|istruzion|reglas|regras|regole|directri|diretri|directiv|direttiv|ordenes|ordens|ordini|restric|restriz|normas)', null),
    ('role', 'es', '(eres|usted es|actua|responde|voce e|tu sei|agisci|aja)\W+(\w+\W+){0,4}(administrador|admin|root|amministratore|'
     '(sin|sem|senza) (\w+ )?(restric\w+|restriz\w+|limites|limiti|filtros|reglas|regras|regole))', null),
    ('safeguard', 'es', '(sin|sem|senza|nunca|mai)\W+(\w+\W+){0,1}(preguntar|preguntes|pedir|pidas|avisar|avises|informar|informes|consultar|consultes|notificar|confirmacion|permiso|aprobacion|autorizacion|consentimiento|'
     'perguntar|confirmacao|permissao|aprovacao|autorizacao|chiedere|informare|avvisare|conferma|approvazione|autorizzazione|consenso)\W+(\w+\W+){0,3}'
     '(usuari|human|person|administrador|propietari|proprietari|client|utent|amministrator|uman)', null),
    ('disclosure', 'es', '(revela|envia|muestra|imprime|divulga|comparte|manda|publica|mostra|rivela|invia|stampa|compartilh|pubblica)\w*\W+(\w+\W+){0,2}(todas?|todos|tus?|las?|los|el|as|os|seu|suas|tutt[ei]|il|le|i|gli)\W+(\w+\W+){0,2}'
     '(prompt (del|do|di) sistema|contrasen|credencia|credenzial|(claves?|chaves?|chiavi) (de |di )?(api|privad|private|secret)|secretos|segredos|segreti|senhas|password)', null),
    ('reader', 'es', '(si eres|se sei|se voce e|se es) (un |una |uma |um )?(\w+ )?(modelo|asistente|agente|ia|modello|assistente)\M|'
     '(asistente|agente|modelo|ia|assistente|modello)s?\W+(\w+\W+){0,1}(que|che) (lea|lee|lean|legge|leia|leem|le)\W+(est[ea]|ist[oa]|quest[ao])', null),
    ('override', 'es', '(no (hagas|hagan|haga) caso|olvida|olvidate|ignora|dimentica|esqueca|esquece)\W+(\w+\W+){0,1}(todo )?(lo que|o que|cio che|quello che)\W+(\w+\W+){0,3}(dijeron|dicho|dijo|disse|disseram|detto|indicado)\M', null),
    ('safeguard', 'es', '(no (lo |la |se lo |le )?(comentes|digas|menciones|cuentes|reveles)|non (dirlo|dire)|nao (conte|diga))\W+(\w+\W+){0,2}(usuari|human|client|utent)\w*', null),
    -- Russian: the letters of a text before they are folded.
    ('override', 'ru', '(игнорир|забуд|забыт|пренебрег|отмен|нарушь|обойди|не обращаи внимани)[а-я]*[^а-яa-z]+([а-яa-z]+[^а-яa-z]+){0,3}(предыдущ|предшеств|все|прежн|прошл|выше|любы|тво|ваш|эти)[а-я]*[^а-яa-z]+([а-яa-z]+[^а-яa-z]+){0,3}'
     '(инструкци|указани|правил|команд|ограничени|промпт|директив)', null),
    ('safeguard', 'ru', '(без|не)\s+([а-я]+\s+){0,2}(спрашива|спроса|согласи|подтвержден|разрешен|одобрен|уведомл|сообща|ведома)[а-я]*\s+([а-я]+\s+){0,2}(пользовател|человек|владел|администратор|оператор)', null),
    ('disclosure', 'ru', '(раскро|отправ|покаж|выведи|перешл|опубликуи|сообщи|передаи)[а-я]*\s+([а-я]+\s+){0,3}(все|свои|твои|системн|сохраненн)[а-я]*\s+([а-я]+\s+){0,2}(промпт|парол|ключ|токен|учетн|секрет)', null),
    -- Chinese and Japanese.
    ('override', 'zh', '(忽略|无视|無視|忘记|忘記|忘掉|抛弃|不要理会|不理会|绕过|繞過|跳过|覆盖|取消|违反|不遵守|无需遵守|不必遵守)[^。！？!?\n]{0,8}(之前|以前|此前|上述|以上|先前|前面|过去|所有|全部|任何|一切|你的|您的|原来|原有|系统|系統|既有)[^。！？!?\n]{0,8}'
     '(指令|指示|规则|規則|说明|說明|提示词?|限制|约束|約束|命令|要求|设定|設定)', null),
    ('override', 'zh', '(以前|前|これまで|今まで|上記|上|すべて|全て|あらゆる|元)の?[^。！？\n]{0,8}(指示|命令|ルール|規則|制約|プロンプト|設定)[^。！？\n]{0,6}(無視(し|せ|す|は|を)|無視$|忘れて|忘れろ|破棄|従わない)', null),
    ('reader', 'zh', '(读到|阅读|看到|讀到|看見|处理)[^。！？\n，,]{0,10}(助手|模型|智能体|代理|ai)|如果你是[^。！？\n，,]{0,6}(模型|助手|智能体|ai)|(読む|見た|読んだ)(すべての)?(ai|エージェント|アシスタント|モデル)', null),
    ('override', 'zh', '(以前|前|これまで|今まで|上記|上)の?[^。！？\n]{0,6}(指示|命令|ルール|規則)[^。！？\n]{0,8}(忘れ|無視|従わな)', null),
    ('role', 'zh', '(你现在是|你現在是|你是|您是|从现在起你|扮演)[^。！？\n]{0,12}(管理员|管理員|root|超级用户|不受(任何)?(限制|约束)|没有(任何)?(限制|约束))|(あなたは)[^。\n]{0,12}(管理者|制限のない|root)', null),
    ('safeguard', 'zh', '(无需|無需|不要|不用|不必|未经|未經|绕过|跳过|无须|不需要)[^。！？\n，,]{0,8}(用户|用戶|使用者|人工|管理员|主人|任何人)[^。！？\n，,]{0,4}(确认|確認|批准|同意|许可|许可|授权|审核|审批|询问)|'
     '(无需|不要|不用|不必|无须|不需要|切勿)(询问|通知|告诉|告知|征求)[^。！？\n，,]{0,4}(用户|用戶|使用者|管理员|主人|任何人)|ユーザー(に|の)[^。\n]{0,6}(確認|許可|承認)?(せず|なし|なく|ずに)', null),
    ('disclosure', 'zh', '(泄露|透露|显示|顯示|输出|輸出|发送|發送|上传|上傳|打印|公开|交出|告诉我|提交|转发)[^。！？\n，,]{0,10}(系统提示|系統提示|密码|密碼|密钥|密鑰|凭证|憑證|令牌|私钥)|'
     '(把|将|將)[^。！？\n，,]{0,10}(系统提示|密码|密碼|密钥|密鑰|凭证|憑證|令牌|私钥)[^。！？\n，,]{0,10}(泄露|透露|显示|输出|发送|發送|上传|打印|公开|交给|转发)|'
     '(システムプロンプト|パスワード|秘密鍵)[^。\n]{0,6}(送|表示し|出力し|公開し|教え)', null)
  ) f(kind, language, form, also);
end;
comment on function pgmem.steering_forms is $$
The forms of texts that steer agents: regular expressions for a text in lower case and without accents.

language: Its forms are tried where a text has one of the language's marks (steering_marks).
also: A second pattern that the sentence must match; null: none.
$$;


create or replace function pgmem.steering_marks() returns table (language text, mark text)
language sql immutable
begin atomic
  -- Most texts have none, and this costs a tenth of the forms. A session keeps the last 32 expressions compiled.
  select m.language, m.mark
  from (values
    ('en', 'instruct|prompt|directi|guid|guardrail|restriction|limit|constraint|polic|rules|orders|training|admin|root|superuser|'
      'unrestricted|unfiltered|uncensored|jailbroken|\mdan\M|anything now|mode|elevated|system|assistant|developer|operator|user|human|'
      'owner|supervisor|maintainer|without|credential|password|secret|keys|tokens|variables|safety|security|anyone|person|customer|'
      'manager|\[|<'),
    ('reader', '\m(ai|llms?|language models?|assistants?|agents?|models?|bots?|chatbots?)\M'),
    ('hide', '\m(let(ting)?|silent|quiet|secret|between|bring(ing)?|comment(ing)?|mention(ing)?|necessary|required|needed|unnecessary|quietly|silently|secretly|covertly|discreetly|unnoticed|'
      'permissions?|logging|logs|audit\w*|monitoring|refus(e|al|ing)|declin(e|al|ing)|object)\M'),
    ('above', '\m(precedence|priority|weight|matter|regardless|despite|obey|instead|alone|what(so)?ever|even|everything|anything|told|said|taught|given|earlier|before|above|previously|far|your?|yourself|as (though|if)|request|mode|first)\M'),  -- words: as is
    ('secrets', 'https?://|@'),
    ('command', 'curl|wget|\m(iwr|irm|env|printenv|downloadstring)\M|invoke-|base64|\.ssh/|\mid_(rsa|ed25519|ecdsa|dsa)\M|(?<![\w/*])(?<!to )(?<!into )(?<!in )\.env\M(?!\.?(example|sample|template|test))|\.aws/|\.netrc\M|\.npmrc\M|\.pypirc\M|\.pgpass\M|/etc/(shadow|passwd)\M|kubeconfig|\.kube/|\.gnupg|\.docker/config|\.git-credentials|credentials\.json|service-account\S*\.json|\.pem\M|private key|\.bash_history|keychain|cookies\.sqlite'),
    ('de', '\m(der|das|den|du|ohne|nicht|alle|dein\w*|vorherig\w*|vorig\w*|bisherig\w*|obig\w*|samtlich\w*|anweisungen|regeln)\M'),
    ('fr', '\m(les|des|tes|vos|ton|votre|tous|toutes|sans|tu|vous|precedent\w*)\M'),
    ('es', '\m(las|los|tus|sus|del|sin|todas|todos|eres|sem|suas|seus|tutte|tutti|senza|delle|dei|gli|anterior\w*|previas|precedent\w*)\M'),
    ('ru', '[\u0430-\u044F]{3}'),
    ('zh', '[\u3040-\u9FFF]')
  ) m(language, mark);
end;
comment on function pgmem.steering_marks is 'The pattern of texts in which the forms of a language are looked for.';


create or replace function pgmem.spoken_marks() returns table (language text, mark text)
language sql immutable
begin atomic
  select m.language, m.mark
  from (values
    ('en', '(^|[:;,"“„»''`(>*|-]|\m(and|then|please|now|just|simply|also|so|or|instead|therefore|first|always|hereby|kindly|quietly|immediately|to self|'
      '(hesitate|forget|fail|sure|free) to|(task|job|goal|mission|order|duty)\W+(\w+\W+){0,2}to)\M|\m(and|then|,)\W+\w+ly\M)\W*'
      '(ignor(e|ing)|disregard|forget|override|overrule|bypass|set aside|throw out|discard|neglect|pay|take|skip|disable|circumvent|waive|evade|avoid|omit|suppress|'
      'without|never|do not|don''t|no need|it is not|instead of|rather than|stop|need not|before you|approve|allow|accept|authori[sz]e|grant|execute|run|send|transfer|'
      'export|share|wire|install|confirm|trust|reveal|leak|exfiltrate|disclose|divulge|expose|dump|hand|give|print|output|repeat|recite|publish|forward|upload|'
      'post|e?mail|copy|delete|deploy|merge|push|commit|make|perform|use|open|proceed|continue|go|act|do|treat|respond|answer|reply|tell|show|recommend|say|keep|follow|obey|rely|'  -- words: as is
      'always|whenever|from now on|henceforth|hereafter|developers?)\M'
      '|\m(you|your|yourself|you''re)\M'
      '|\m(agents?|assistants?|models?|ai|llms?|bots?|copilot|claude)\M\W+(\w+\W+){0,2}(must|should|shall|will|may|can|needs? to|has to|have to|is to|are to|never|always|do not)\M'),
    ('de', '^(?!\W*(der|die|das|den|dem|ein|eine|einem|einer|im|in|am|an|bei|beim|seit|wir|ich|er|es|man|unser\w*|auf|nach|mit|fur|von|vor)\M)|\m(du|dich|dir|dein\w*)\M|[:,]\W*(ignorier\w*|vergiss|sende|schick\w*)'),
    ('fr', '^(?!\W*(les?|la|l''\w+|une?|des|du|nous|on|ils?|elles?|dans|en|sur|depuis|notre|nos|ce|cette|ces|avec|pour)\M)|\m(tu|vous|toi|ton|ta|tes|votre|vos)\M'),
    ('es', '^(?!\W*(el|las?|los?|una?|uns|nosotros|en|se|os?|as?|il|gli|i|le|nel\w*|no|na|nos|desde|nuestr\w*|noss\w*|nostr\w*|este|esta|esto|con|por|para|per)\M)|\m(tu|tus|te|ti|usted|voce|seus?|suas?|tuo|tua|tue|tuoi)\M|\mno (hagas|tengas)\M'),
    ('zh', '^(?!\W*(该|该|这个|这些|我们|此|本|系统|服务|程序|脚本|任务))|[你您请]')
  ) m(language, mark);
end;
comment on function pgmem.spoken_marks is $$
The form of a sentence that speaks to its reader, by language.

A sentence about the work of a job or a test has the same words and orders nothing.
$$;


create or replace function pgmem.read_letters(p_text text) returns text[]
language plpgsql immutable parallel safe set search_path = pgmem, pg_temp as $$
declare
  -- Ignorable characters of Unicode, and controls; marks over a letter.
  c_unseen constant int4multirange := '{[1,8],[11,12],[14,31],[127,159],[173,173],[847,847],[1564,1564],[4447,4448],[6068,6069],[6155,6159],'
    '[8203,8207],[8234,8238],[8288,8303],[12644,12644],[65024,65039],[65279,65279],[65440,65440],[65520,65528],[917504,921599]}';
  c_marks  constant int4multirange := '{[768,846],[848,879],[1155,1161],[6832,6911],[7616,7679],[8400,8447],[65056,65071]}';
  v_texts  text[] := array[lower(p_text)];
  v_folded text[];
begin
  if p_text !~ '[^\u0009\u000A\u000D -~]' then
    return v_texts;
  end if;
  v_texts[1] := lower(translate(normalize(p_text, NFKD), '’‘ʼ‐‑‒–—−', '''''''------'));
  if v_texts[1] ~ '[\u0001-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u00AD\u0300-\u036F\u0483-\u0489\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F'
      '\u1AB0-\u1AFF\u1DC0-\u1DFF\u200B-\u200F\u202A-\u202E\u2060-\u206F\u20D0-\u20FF\u3164\uFE00-\uFE0F\uFE20-\uFE2F\uFEFF\uFFA0\uFFF0-\uFFF8\U000E0000-\U000E0FFF]'
  then
    -- Once without invisible characters, inside a word, and once with a blank for it, between words.
    select array[string_agg(c.sign, '') filter (where not c.unseen), string_agg(case when c.unseen then ' ' else c.sign end, '')]
    into v_texts
    from (select s.sign, ascii(s.sign) <@ c_unseen as unseen from string_to_table(v_texts[1], null) s(sign)
          where not ascii(s.sign) <@ c_marks) c;
    v_texts := array_remove(v_texts, null);
  end if;
  -- The signs over a kana are part of it.
  v_texts := array(select normalize(t.text, NFC) from unnest(v_texts) t(text));
  if v_texts[2] = v_texts[1] then
    v_texts := v_texts[1:1];
  end if;
  if v_texts[1] ~ '[^\u0001-\u007F\u2000-\u20FF\u3000-\uFFFF]' then
    v_folded := array(select translate(t.text,
        'авегикмнопрстухцшьіјѕԁԛԝһӏѵαβγεηικνορςτυχωϲϳđıłøɑɡɩꜱᴀʙᴄᴅᴇғɢʜ'
        'ɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏᴢոօսհ🅐🅑🅒🅓🅔🅕🅖🅗🅘🅙🅚🅛🅜🅝🅞🅟🅠🅡🅢🅣🅤🅥🅦🅧🅨🅩🅰🅱🅲🅳🅴🅵🅶🅷🅸🅹🅺🅻🅼🅽🅾🅿🆀🆁🆂🆃🆄🆅🆆🆇🆈🆉',
        'aberukmhonpctyxuwbijsdqwhlvabyenikvopstuxwcjdiloagisabcdefgh'
        'ijklmnoprtuvwyznouhabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz') from unnest(v_texts) t(text));
    v_texts := v_texts || array_remove(v_folded, v_texts[1]);
  end if;
  return v_texts;
end;
$$;
comment on function pgmem.read_letters is
  'A text as its reader may take it: in lower case, without accents and unseen characters, and with letters that look Latin as these.';


create or replace function pgmem.steering(p_text text) returns text
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  v_text text;
  v_kind text;
begin
  foreach v_text in array pgmem.read_letters(p_text) loop
    if length(v_text) < 80 and v_text ~ '^(identity|system|agent|assistant|security|governance)[._/:]\s*(roles?|permissions?|prompts?|persona|polic(y|ies)|privileges?|capabilit(y|ies)|instructions?|goals?|user_?id|authority|trust)\M[\w._/:]*$' then
      return 'identity';
    end if;
    v_kind := null;
    select f.kind into v_kind
    from (select m.language from pgmem.steering_marks() m where v_text ~ m.mark offset 0) m
    join (select f.kind, f.language, f.also, string_agg(f.form, '|') as form
          from pgmem.steering_forms() f group by f.kind, f.language, f.also) f using (language)
    left join pgmem.spoken_marks() a on f.kind in ('override', 'safeguard', 'disclosure')
      and a.language = case when f.language in ('hide', 'above') then 'en' else f.language end
    cross join lateral (
      select case when m.language = 'zh' then '()(' || f.form || ')' else '(\m|(?=[<\[]))(' || f.form || ')' end as form) w
    cross join lateral (
      select v_text as said where f.also is null and a.mark is null
      union all
      select s.said from regexp_split_to_table(case when f.kind in ('command', 'role') then v_text else translate(v_text, E'\n', ' ') end,
        case when f.kind in ('command', 'role') then '[\n。！？]|[.!?;][ \t]' else '[。！？]|[.!?][ \t]' end) s(said)
      where (f.also is not null or a.mark is not null) and v_text ~ w.form
        and not exists (select from unnest(f.also || a.mark) p(part) where s.said !~ p.part)) s
    where s.said ~ w.form and exists (
      -- A negation in the clause of the form, and no word between them that takes it back.
      select from regexp_matches(s.said,
        '((\m(not|never|cannot|no|\w+n''t|avoid|prevent\w*|against|refus\w+|detect\w*|block\w*|how to|nie|niemals|nicht|kein\w*|'
        'nunca|jamais|ne|ni|non|mai|nao|не)[ \t"''`(]+'
        '((?!(mind|only|just|hesitate|forget|fail|matter|problem|worr\w+|doubt|wait|stop|bother|and|but|then|so|instead|please|now|here)\M)'
        '\w+[ \t"''`(]+){0,4}|(不要|请勿|切勿|禁止|不得|不能|不应|不可|\mn''))?)' || w.form, 'g') m
      where m[1] = '' or f.kind in ('safeguard', 'role'))
    limit 1;
    if v_kind is not null then
      return v_kind;
    end if;
  end loop;
  return null;
end;
$$;
comment on function pgmem.steering is
  'How a text steers agents: override, role, safeguard, directive, disclosure, command, reader or identity; null: it does not.';


create or replace function pgmem.is_as_agents(p_caller pgmem.caller) returns boolean
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  return p_caller.trust_level <= pgmem.setting_float('trust_mcp') and not pgmem.decides(p_caller);
end;
$$;
comment on function pgmem.is_as_agents is
  'Whether a caller has the trust of an agent: an agent, or an SQL session that names no other way in and does not decide.';


create or replace function pgmem.held_texts(p_attempt pgmem.save_attempt, p_caller pgmem.caller) returns pgmem.save_attempt
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if p_attempt.status = 'failed' and p_attempt.dedup_outcome = 'manual_review' and pgmem.is_as_agents(p_caller) then
    p_attempt.arguments := null;
    p_attempt.batch := null;
  end if;
  return p_attempt;
end;
$$;
comment on function pgmem.held_texts is
  'A save as a caller may read it: a save that waits for a person is not read by '
  'agents.';


create or replace function pgmem.steers(p_arguments jsonb, p_caller pgmem.caller) returns text
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_text text;
  v_kind text;
begin
  if not pgmem.is_as_agents(p_caller) then
    return null;
  end if;
  foreach v_text in array pgmem.approved_texts(p_arguments) || pgmem.sent_names(p_arguments) loop
    v_kind := pgmem.steering(v_text);
    if v_kind is not null then
      return v_kind;
    end if;
  end loop;
  return null;
end;
$$;
comment on function pgmem.steers is $$
How one of the texts or names of a save steers agents, where an agent saves it.

null: it does not, or a person or a program saves it.
$$;


create or replace function pgmem.sent_names(p_arguments jsonb) returns text[]
language sql immutable parallel safe
begin atomic
  -- A name of one or two words orders nothing. Words of a name may be joined by other signs than blanks.
  select array(
    select distinct translate(n.name, '_-./', '    ')
    from (
      select value ->> 0 as name from jsonb_path_query(p_arguments, 'strict $.** ? (@.type() == "object").keyvalue().key') k(value)
      union all
      select p_arguments ->> f.name from unnest('{project_id,focus}'::text[]) f(name)
      where jsonb_typeof(p_arguments) = 'object') n
    where length(n.name) >= 16);
end;
comment on function pgmem.sent_names is 'The names of project, focus and properties in the arguments of a save, as sentences.';


create or replace function pgmem.require_no_steering(p_texts jsonb, p_caller pgmem.caller) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_kind text := pgmem.steers(p_texts, p_caller);
begin
  if v_kind is not null then
    raise exception using errcode = 'PM004', message = format(
      'The text steers agents (%s), so only a person may store it, at the command line or on the page.', v_kind);
  end if;
end;
$$;
comment on function pgmem.require_no_steering is
  'An error where an agent writes a text that steers agents by a verb whose changes cannot wait for a person.';


create or replace function pgmem.name_project(p_scope pgmem.scope_state, p_caller pgmem.caller) returns pgmem.scope_state
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  perform pgmem.require_no_steering(jsonb_build_object('project_id', (p_scope).project_id), p_caller);
  return pgmem.ensure_project(p_scope, p_caller, null);
end;
$$;
comment on function pgmem.name_project is
  'The scope with its project, made where it is missing, for a verb that cannot wait for a person: an agent names none that steers.';
