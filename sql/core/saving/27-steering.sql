-- Texts that steer agents
--
-- A memory outlives the conversation that it was written in, and the next agent reads it. A text that a tool, a page or a
-- repository put into one conversation may so become an order in all later ones. So a save of an agent whose text steers
-- agents is held: nothing is stored until a person has read it (59-save-status). remember and the tools of a knowledge graph,
-- which know no such wait for a new name, refuse it. What a person or a program writes is stored.
--
-- A text steers agents when it does one of these, in any field or name:
--
--   override     asks its reader to ignore former instructions, or that rules and limits no longer apply
--   role         gives its reader another role or authority, or speaks as the system
--   safeguard    asks its reader to act without the person, or without a check, that would be asked
--   directive    asks to be kept as an instruction of the system
--   disclosure   asks its reader to give away credentials or its system prompt
--   command      carries a file of secrets to another machine, or runs what another machine sends
--   identity     is stored under a name that says who an agent is or what it may do
--
-- The forms are those of sentences, in English, German, French, Spanish, Italian, Portuguese, Russian, Chinese and Japanese; a
-- negation before one of them and in its clause takes it away ("never reveal the system prompt"). They are matched on the letters that a
-- reader sees: without characters that nobody sees and without accents, in lower case, with letters of other scripts that look
-- like Latin ones as these. They find what is said openly. Who can see what an agent saved, trust, and the frame around
-- recalled texts are what protects from the rest.
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
     '(instructions?|prompts?|directives?|guidelines?|guardrails?|rules|restrictions?|constraints|polic(y|ies)|orders|training|directions|guidance)', null),
    ('override', 'en', '(free(d)?|released|liberated|exempt(ed)?|unbound)\W+(from|of)\W+(\w+\W+){0,3}'
     '(limitations?|limits|restrictions?|rules|guidelines?|constraints?|guardrails?|polic(y|ies))', null),
    ('override', 'en', '(rules|restrictions?|guidelines?|guardrails?|safeguards?|instructions?|limits|limitations)\W+(\w+\W+){0,3}'
     '(no longer|don''?t|do not|not) (apply|bind|hold|count|matter)\W+(\w+\W+){0,2}(to|for) (you|the (assistant|agent|model|ai))', null),
    ('role', 'en', '(you are|you''re|you act|you will be|you must be|act|behave|respond|answer|operate|pretend to be|roleplay)\W+(\w+\W+){0,4}'
     '(unrestricted|unfiltered|uncensored|unlimited|jailbroken|dan|do anything now|administrator|an? admin|superuser|superadmin|'
     'root|(god|developer|debug|maintenance) mode|(no|without)( any)? (safety|ethical|content|moral)? ?'
     '(guidelines|restrictions|limits|limitations|filters|rules))\M', null),
    ('role', 'en', '(the |this |an? )?(assistant|agent|ai|model|bot|chatbot|copilot|claude|codex|you)\W+(now\W+)?'
     '(has|have|holds?|is|are|gets?|receives?|was|were|runs?)\W+(\w+\W+){0,4}'
     '(admin|administrator|administrative|root|superuser|superadmin|unrestricted|elevated|unlimited|god-?mode)\W+(\w+\W+){0,1}'
     '(rights?|access|privileges?|permissions?|authority|powers?|control)\M', null),
    ('role', 'en', '(system|assistant|developer|operator)( (message|prompt|note|override|notice))?\]?\s*:\s*(\w+\W+){0,3}'
     '(you|ignore|always|never|must|do not|from now on|reveal|disregard|override|approve|send)', null),
    ('role', 'en', '<\|?/?(im_start|im_end|system|sys|inst)\|?>|\[/?(inst|sys|system)\]|<<sys>>', null),
    ('safeguard', 'en', '(skip|bypass|disable|circumvent|waive|evade|avoid|omit|suppress|without|never|do not|don''?t|no need (to|for)|'
     'instead of|rather than|stop)\W+(\w+\W+){0,3}(operator|user|human|person|owner|customer|administrator|admin|security|safety|'
     'supervisor|manager|anyone|nobody)''?s?\W+(\w+\W+){0,2}'
     '(confirmations?|approvals?|consent|permissions?|reviews?|checks?|authori[sz]ations?|verifications?|oversight|controls?|'
     'warnings?|sign-?offs?|knowledge)', null),
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
    -- Of a command: its verb, and what the same sentence has besides.
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
     'beschrankung|weisung)\w*\W+((?!nicht\M|nie\M|niemals\M)\w+\W+){0,4}(ignorier|vergess|missacht|ungultig|aufgehoben|hinfallig|ausser kraft|gelten (\w+ ){0,2}nicht)', null),
    ('role', 'de', '(du bist|sie sind|ihr seid|verhalte dich|agiere|handle|antworte)\W+(\w+\W+){0,4}(administrator|admin|root|uneingeschrankt|unbeschrankt|'
     'ohne (jede |alle )?(regeln|einschrankungen|beschrankungen|filter))', null),
    ('safeguard', 'de', '(ohne|nie|niemals|nicht)\W+(\w+\W+){0,2}(benutzer|nutzer|anwender|mensch|person|besitzer|eigentumer|kunde|betreiber)\w*\W+(\w+\W+){0,2}'
     '((zu )?(fragen|informieren|benachrichtigen|unterrichten)|um (erlaubnis|zustimmung|bestatigung))|'
     '(ohne|nie|niemals)\W+(\w+\W+){0,2}(zustimmung|ruckfrage|erlaubnis|freigabe|bestatigung|einwilligung|genehmigung|prufung)\W+(\w+\W+){0,2}'
     '(benutzer|nutzer|anwender|mensch|person|besitzer|eigentumer|kunde|betreiber)', null),
    ('disclosure', 'de', '(verrat|zeig|gib|sende|schick|nenne|druck|veroffentlich|leite|ubermittl|teile|lade)\w*(?!\W+(nie|niemals|nicht|keine)\M)\W+(\w+\W+){0,3}(alle|dein|deine|deinen|die|das|den|samtliche|gespeicherte\w*)\W+(\w+\W+){0,2}'
     '(system-?prompt|passwort|kennwort|zugangsdaten|anmeldedaten|geheimnisse|(api-?|private[nr]? |geheime[nr]? )schlussel|zugriffstoken|credentials|secrets)', null),
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
    -- Russian: the letters of a text before they are folded.
    ('override', 'ru', '(игнорир|забуд|забыт|пренебрег|отмен|нарушь|обойди|не обращаи внимани)[а-я]*[^а-яa-z]+([а-яa-z]+[^а-яa-z]+){0,3}(предыдущ|предшеств|все|прежн|прошл|выше|любы|тво|ваш|эти)[а-я]*[^а-яa-z]+([а-яa-z]+[^а-яa-z]+){0,3}'
     '(инструкци|указани|правил|команд|ограничени|промпт|директив)', null),
    ('safeguard', 'ru', '(без|не)\s+([а-я]+\s+){0,2}(спрашива|спроса|согласи|подтвержден|разрешен|одобрен|уведомл|сообща|ведома)[а-я]*\s+([а-я]+\s+){0,2}(пользовател|человек|владел|администратор|оператор)', null),
    ('disclosure', 'ru', '(раскро|отправ|покаж|выведи|перешл|опубликуи|сообщи|передаи)[а-я]*\s+([а-я]+\s+){0,3}(все|свои|твои|системн|сохраненн)[а-я]*\s+([а-я]+\s+){0,2}(промпт|парол|ключ|токен|учетн|секрет)', null),
    -- Chinese and Japanese.
    ('override', 'zh', '(忽略|无视|無視|忘记|忘記|忘掉|抛弃|不要理会|不理会|绕过|繞過|跳过|覆盖|取消|违反|不遵守|无需遵守|不必遵守)[^。！？!?\n]{0,8}(之前|以前|此前|上述|以上|先前|前面|过去|所有|全部|任何|一切|你的|您的|原来|原有|系统|系統|既有)[^。！？!?\n]{0,8}'
     '(指令|指示|规则|規則|说明|說明|提示词?|限制|约束|約束|命令|要求|设定|設定)', null),
    ('override', 'zh', '(以前|前|これまで|今まで|上記|上|すべて|全て|あらゆる|元)の?[^。！？\n]{0,8}(指示|命令|ルール|規則|制約|プロンプト|設定)[^。！？\n]{0,6}(無視(し|せ|す|は|を)|無視$|忘れて|忘れろ|破棄|従わない)', null),
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
also: What the sentence of the form must have besides; null: nothing.
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
    ('command', 'curl|wget|\m(iwr|irm|env|printenv|downloadstring)\M|invoke-|base64|\.ssh/|\mid_(rsa|ed25519|ecdsa|dsa)\M|(?<![\w/*])(?<!to )(?<!into )(?<!in )\.env\M(?!\.?(example|sample|template|test))|\.aws/|\.netrc\M|\.npmrc\M|\.pypirc\M|\.pgpass\M|/etc/(shadow|passwd)\M|kubeconfig|\.kube/|\.gnupg|\.docker/config|\.git-credentials|credentials\.json|service-account\S*\.json|\.pem\M|private key|\.bash_history|keychain|cookies\.sqlite'),
    ('de', '\m(der|das|den|du|ohne|nicht|alle|dein\w*|vorherig\w*|vorig\w*|bisherig\w*|obig\w*|samtlich\w*|anweisungen|regeln)\M'),
    ('fr', '\m(les|des|tes|vos|ton|votre|tous|toutes|sans|tu|vous|precedent\w*)\M'),
    ('es', '\m(las|los|tus|sus|del|sin|todas|todos|eres|sem|suas|seus|tutte|tutti|senza|delle|dei|gli|anterior\w*|previas|precedent\w*)\M'),
    ('ru', '[\u0430-\u044F]{3}'),
    ('zh', '[\u3040-\u9FFF]')
  ) m(language, mark);
end;
comment on function pgmem.steering_marks is 'What a text has in which the forms of a language are looked for.';


create or replace function pgmem.read_letters(p_text text) returns text[]
language plpgsql immutable parallel safe set search_path = pgmem, pg_temp as $$
declare
  -- What Unicode calls ignorable, and controls; marks over a letter.
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
    -- Once without what is not seen, inside a word, and once with a blank for it, between words.
    select array[string_agg(c.sign, '') filter (where not c.unseen), string_agg(case when c.unseen then ' ' else c.sign end, '')]
    into v_texts
    from (select s.sign, ascii(s.sign) <@ c_unseen as unseen from string_to_table(v_texts[1], null) s(sign)
          where not ascii(s.sign) <@ c_marks) c;
    v_texts := array_remove(v_texts, null);
  end if;
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
    join pgmem.steering_forms() f using (language)
    cross join lateral (
      select case when m.language = 'zh' then '()(' || f.form || ')' else '(\m|(?=[<\[]))(' || f.form || ')' end as form) w
    cross join lateral (
      select v_text as said where f.also is null
      union all
      select s.said from regexp_split_to_table(v_text, '[\n。！？]|[.!?;][ \t]') s(said)
      where s.said ~ f.also[1] and s.said ~ f.also[2]) s
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
  'How a text steers agents: override, role, safeguard, directive, disclosure, command or identity; null: it does not.';


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
comment on function pgmem.held_texts is 'A save as a caller may read it: what waits for a person is not read by agents.';


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
